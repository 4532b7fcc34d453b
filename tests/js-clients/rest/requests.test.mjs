// Client features around a request: abort, throwOnError, retries, explain.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "postgres";

import { expectData, startRegister } from "./support.mjs";

let register;
let sql;
before(async () => {
  register = await startRegister();
  sql = postgres(register.dbUrl, { max: 1 });
});
after(async () => {
  await sql?.end();
  await register?.stop();
});

/** A client whose first responses are replaced by 503, and which records its requests. */
function flakyClient(losses) {
  const requests = [];
  const flakyFetch = async (url, options) => {
    requests.push(options.method);
    if (requests.length <= losses) {
      return new Response("{}", { status: 503, headers: { "retry-after": "0" } });
    }
    return fetch(url, options);
  };
  const client = register.client(register.keys.publishable, { global: { fetch: flakyFetch } });
  return { client, requests };
}

async function until(condition) {
  const deadline = Date.now() + 5_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `still not: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("an aborted request also ends its query", async () => {
  const isHeld = async () => (await sql`select from pg_locks where locktype = 'advisory' and objid = 7`).length === 1;
  const abort = new AbortController();
  const call = register.client(register.keys.secret).rpc("hold_lock", { key: 7, seconds: 60 });
  const response = call.abortSignal(abort.signal).then((result) => result);
  await until(isHeld);

  abort.abort();

  assert.match((await response).error.message, /AbortError/);
  await until(async () => !(await isHeld()));
});

test("throwOnError throws what would be returned", async () => {
  const query = register.client().from("no_such_table").select().throwOnError();

  await assert.rejects(async () => await query, {
    name: "PostgrestError",
    code: "PGRST205",
    message: "Could not find the table 'public.no_such_table' in the schema cache",
    details: null,
    hint: null,
  });
});

test("reads are tried again after a 503, and the server sees which try it is", async () => {
  const { client, requests } = flakyClient(1);
  const { headers } = await expectData(client.rpc("whoami", {}, { get: true }));

  assert.deepEqual(requests, ["GET", "GET"]);
  assert.equal(headers["x-retry-count"], "1");
});

test("writes are not tried again", async () => {
  const { client, requests } = flakyClient(1);
  const { status } = await client.from("ships").insert({ name: "once" });

  assert.equal(status, 503);
  assert.deepEqual(requests, ["POST"]);
});

test("further headers of the client reach functions", async () => {
  const client = register.client(register.keys.publishable, { global: { headers: { "x-app": "tests" } } });
  const { headers } = await expectData(client.rpc("whoami").setHeader("x-once", "1"));

  assert.deepEqual([headers["x-app"], headers["x-once"]], ["tests", "1"]);
  assert.match(headers["x-client-info"], /^supabase-js/);
});

test("a browser on another origin may read counts and send every header of the client", async () => {
  const origin = "https://app.example";
  const asked = "apikey,authorization,prefer,accept-profile,x-client-info,x-retry-count";
  const url = `${register.apiUrl}/rest/v1/ships`;
  const preflight = await fetch(url, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "GET", "access-control-request-headers": asked },
  });
  const response = await fetch(url, { headers: { origin, apikey: register.keys.publishable } });

  assert.equal(preflight.status, 200);
  const allowed = preflight.headers.get("access-control-allow-headers").toLowerCase();
  for (const header of asked.split(",")) assert.match(allowed, new RegExp(`\\b${header}\\b`));
  assert.match(response.headers.get("access-control-expose-headers"), /Content-Range/);
});

test("the description of the API names what a schema exposes", async () => {
  const client = register.client(register.keys.secret);
  const main = await expectData(client.getOpenApiSpec());
  const archive = await expectData(client.schema("archive").getOpenApiSpec());

  assert.equal(main.swagger, "2.0");
  assert.ok(main.paths["/ships"].patch);
  assert.ok(main.paths["/rpc/add"].post);
  assert.deepEqual(Object.keys(archive.paths).toSorted(), ["/", "/rpc/oldest", "/ships"]);
});
