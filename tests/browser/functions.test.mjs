// CORS: functions called from a page of another origin, with preflights and readable responses
// (functions contract §3).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { expectData } from "./support/results.mjs";
import { openSite } from "./support/site.mjs";

/** Sends CORS headers for any origin, as the hosted service's examples do. */
const friendly = `
const headers = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "authorization, x-client-info, apikey, content-type",
};
const preflights: Record<string, string>[] = [];
Deno.serve(async (req) => {
  if (req.method === "OPTIONS") {
    preflights.push(Object.fromEntries(req.headers));
    return new Response("ok", { headers });
  }
  const { wish } = await req.json();
  if (wish === "death") { Promise.reject(new Error("nobody listens")); await new Promise(() => {}); }
  return Response.json({ method: req.method, wish, preflights: preflights.splice(0) }, { headers });
});`;

/** Sends no CORS headers, and counts the requests that reach it. */
const shy = `
const seen: string[] = [];
Deno.serve((req) => {
  seen.push(req.method);
  return Response.json(seen);
});`;

let site;
before(async () => {
  site = await openSite(
    {},
    { "supabase/functions/friendly/index.ts": friendly, "supabase/functions/shy/index.ts": shy },
  );
});
after(() => site?.stop());

/** Calls a function from a page, and returns what the page may read of the response. */
const invoke = (tab, name, body, key) =>
  tab.evaluate(
    async ([name, body, url, key]) => {
      const caller = key ? supabase.createClient(url, key) : client;
      const { data, error } = await caller.functions.invoke(name, { body });
      if (!error) return { data, error };
      const reply = error.context instanceof Response ? error.context : undefined;
      const read = reply && {
        status: reply.status,
        code: reply.headers.get("sb-error-code"),
        body: await reply.json(),
      };
      return { data, error: { name: error.name, ...read } };
    },
    [name, body, site.plinth.apiUrl, key],
  );

test("a page of another origin calls a function, which answers the preflight", async () => {
  const tab = await site.visit("/");

  const { method, wish, preflights } = await expectData(invoke(tab, "friendly", { wish: "tea" }));

  assert.deepEqual([method, wish], ["POST", "tea"]);
  assert.equal(preflights.length, 1, "the browser asked before");
  const [asked] = preflights;
  assert.equal(asked.origin, site.url);
  assert.notEqual(site.url, site.plinth.apiUrl);
  assert.equal(asked["access-control-request-method"], "POST");
  assert.match(asked["access-control-request-headers"], /apikey/);
  assert.equal(asked.apikey, undefined, "a preflight carries no key");
});

test("a browser blocks a function without CORS headers from other origins", async () => {
  const tab = await site.visit("/");

  const { data, error } = await invoke(tab, "shy", { wish: "tea" });

  assert.equal(data, null);
  assert.deepEqual(error, { name: "FunctionsFetchError" });
  // The preflight was sent, but not the request itself.
  const direct = await fetch(`${site.plinth.apiUrl}/functions/v1/shy`, {
    headers: { apikey: site.plinth.keys.publishable },
  });
  assert.deepEqual(await direct.json(), ["OPTIONS", "GET"]);
  assert.equal(direct.headers.get("access-control-allow-origin"), null);
});

test("a page may read why Plinth itself rejected a request, or could not respond", async () => {
  const tab = await site.visit("/");

  const rejected = await invoke(tab, "friendly", { wish: "tea" }, "sb_publishable_unknown");
  const died = await invoke(tab, "friendly", { wish: "death" });

  const message = "Invalid API key";
  const code = "UNAUTHORIZED_INVALID_JWT_FORMAT";
  const body = { code, message, msg: message };
  assert.deepEqual(rejected.error, { name: "FunctionsHttpError", status: 401, code, body });
  assert.equal(died.error.status, 500);
  assert.equal(died.error.code, "WORKER_ERROR");
  assert.equal(died.error.body.code, "WORKER_ERROR");
});
