// `/pg/{ref}` against `@supabase/postgres-meta`: its server on the same database, the same questions.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { compare, questions } from "./catalog/compare.mjs";
import { startPlinth } from "./support/plinth.mjs";

const server = new URL("./node_modules/@supabase/postgres-meta/dist/server/server.js", import.meta.url);

let plinth;
let meta;
let ask;

before(async () => {
  const fixture = await readFile(new URL("./catalog/fixture.sql", import.meta.url), "utf8");
  plinth = await startPlinth({ files: { "supabase/migrations/1_catalog.sql": fixture } });
  const made = await plinth.cli("tokens", "create", "catalog", "-o", "json");
  const { token } = JSON.parse(made.stdout);
  meta = await startPostgresMeta(plinth.dbUrl);
  const json = async (url, init) => {
    const response = await fetch(url, init);
    return { status: response.status, body: await response.json() };
  };
  ask = {
    plinth: (path, init = {}) =>
      json(`${plinth.apiUrl}/pg/${plinth.ref}/${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      }),
    meta: (path, init = {}) =>
      json(`${meta.url}/${path}`, { ...init, headers: { "content-type": "application/json" } }),
  };
});

after(async () => {
  await meta?.stop();
  await plinth?.stop();
});

for (const [path, key] of questions) {
  test(`the same answer to /${path}`, async () => {
    const body = async (one) => {
      const { status, body } = await ask[one](path);
      assert.equal(status, 200, `${one}: ${JSON.stringify(body)}`);
      return body;
    };
    await compare(path, key, () => body("plinth"), () => body("meta"));
  });
}

test("the same answers about single objects", async () => {
  for (const kind of ["schemas", "tables", "views", "functions", "policies", "publications"]) {
    const { body: list } = await ask.meta(kind);
    const path = `${kind}/${list.at(-1).id}`;
    const body = async (one) => (await ask[one](path)).body;
    await compare(path, (object) => object.id, () => body("plinth"), () => body("meta"));
    const unknown = await ask.plinth(`${kind}/4294967290`);
    const expected = await ask.meta(`${kind}/4294967290`);
    assert.equal(unknown.status, 404);
    assert.equal(expected.status, 404);
    assert.equal(unknown.body.error, expected.body.error);
  }
});

test("the same rows and errors of queries", async () => {
  for (const query of [
    "select 1 as a; select 'x' as b, null as c, 1.5::float8 as d, 1.50 as n",
    "select 9007199254740993 as big, 42::int8 as small, true as t, '{\"a\":[1]}'::jsonb as j",
    "select array[1,2] as i, array['a',null,'b\"c'] as s, '{}'::int[] as e, now()::date > '2020-01-01' as d",
    "select '2026-01-02 03:04:05'::timestamptz at time zone 'utc' as at, interval '1 day' as i, '\\x00ff'::bytea as b",
    "select 1 where false",
    "create temp table x (a int); insert into x values (1), (2); select * from x",
    "select * from users limit 2",
  ]) {
    const init = { method: "POST", body: JSON.stringify({ query }) };
    const [ours, theirs] = await Promise.all([ask.plinth("query", init), ask.meta("query", init)]);
    assert.deepEqual(ours, theirs, query);
  }
  for (const query of ["select nothing", "select 1;\nselect é, 'x' from users", "selec 1", "select 1/0", "insert into measured values (null)"]) {
    const init = { method: "POST", body: JSON.stringify({ query }) };
    const [ours, theirs] = await Promise.all([ask.plinth("query", init), ask.meta("query", init)]);
    assert.equal(ours.status, theirs.status, query);
    for (const member of ["error", "message", "code", "position", "detail", "hint", "constraint", "formattedError"]) {
      assert.equal(ours.body[member], theirs.body[member], `${member} of ${query}`);
    }
  }
});

/** postgres-meta's own server on a free port. */
async function startPostgresMeta(databaseUrl) {
  const [port, adminPort] = await Promise.all([freePort(), freePort()]);
  const child = spawn(process.execPath, [fileURLToPath(server)], {
    env: {
      PATH: process.env.PATH,
      PG_META_HOST: "127.0.0.1",
      PG_META_PORT: String(port),
      PG_META_ADMIN_PORT: String(adminPort),
      PG_META_DB_URL: databaseUrl,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let log = "";
  child.stdout.setEncoding("utf8");
  await new Promise((resolve, reject) => {
    child.stdout.on("data", (text) => {
      log += text;
      if (log.includes(`:${port}`)) resolve();
    });
    child.once("exit", (code) => reject(new Error(`postgres-meta ended with ${code}: ${log}`)));
  });
  const stop = async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

async function freePort() {
  const listener = createServer();
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address();
  listener.close();
  await once(listener, "close");
  return port;
}
