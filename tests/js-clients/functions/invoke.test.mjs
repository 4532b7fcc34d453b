// Every way in which supabase-js calls a function (functions contract §2, §3, §15).

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { FunctionsFetchError, FunctionsHttpError, FunctionsRelayError } from "@supabase/supabase-js";

import { newUser } from "../support/accounts.mjs";
import { startFunctions } from "./support.mjs";

const cors = `export const headers = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "authorization, x-client-info, apikey, content-type",
};`;

const echo = `
import { headers } from "../_shared/cors.ts";
Deno.serve(async (req) => {
  if (req.method === "OPTIONS") return new Response("ok", { headers });
  const type = req.headers.get("content-type") ?? "";
  const body = type.startsWith("multipart/")
    ? Object.fromEntries([...(await req.formData())].map(([name, value]) => [name, typeof value === "string" ? value : value.name]))
    : await req.text();
  return Response.json({ method: req.method, url: req.url, type, body, headers: Object.fromEntries(req.headers) }, { headers });
});`;

const answers = `
Deno.serve((req) => {
  const kind = new URL(req.url).pathname.split("/")[2];
  const typed = (type: string, body: BodyInit) => new Response(body, { headers: { "content-type": type } });
  switch (kind) {
    case "json": return typed("Application/JSON; charset=utf-8", '{"a":[1,null]}');
    case "bytes": return typed("application/octet-stream", new Uint8Array([1, 2, 3]));
    case "pdf": return typed("application/pdf", "%PDF");
    case "form": { const form = new FormData(); form.set("a", "b"); return new Response(form); }
    case "events": return typed("text/event-stream", "data: 1\\n\\n");
    case "html": return typed("text/html", "<p>hi</p>");
    case "teapot": return new Response("short and stout", { status: 418 });
    case "relayed": return new Response("from further on", { status: 502, headers: { "x-relay-error": "true" } });
    case "throw": throw new Error("boom");
    case "slow": return new Promise(() => {});
    default: return typed("text/plain", "plain");
  }
});`;

const back = `
import { createClient } from "npm:@supabase/supabase-js@2";
Deno.serve(async (req) => {
  const url = Deno.env.get("SUPABASE_URL")!;
  const client = createClient(url, Deno.env.get("SUPABASE_ANON_KEY")!, {
    global: { headers: { Authorization: req.headers.get("Authorization")! } },
  });
  const { data } = await client.auth.getUser(req.headers.get("Authorization")!.replace("Bearer ", ""));
  const nested = await client.functions.invoke("echo", { body: "nested" });
  const admin = createClient(url, JSON.parse(Deno.env.get("SUPABASE_SECRET_KEYS")!).default);
  const { data: all, error } = await admin.auth.admin.listUsers();
  return Response.json({ user: data.user?.email, nested: nested.data?.body, users: all?.users?.length, error });
});`;

const ticker = `
let next = Promise.withResolvers<void>();
const words = "many words of one kind ".repeat(200);
Deno.serve((req) => {
  if (req.method === "POST") {
    next.resolve();
    next = Promise.withResolvers();
    return new Response();
  }
  if (req.url.endsWith("/packed")) {
    const packed = new Blob([words]).stream().pipeThrough(new CompressionStream("gzip"));
    return new Response(packed, { headers: { "content-encoding": "gzip", "content-type": "text/plain" } });
  }
  const encoder = new TextEncoder();
  const events = new ReadableStream({
    async start(controller) {
      for (let number = 0; number < 3; number++) {
        controller.enqueue(encoder.encode("data: " + number + "\\n\\n"));
        await next.promise;
      }
      controller.close();
    },
  });
  return new Response(events, { headers: { "content-type": "text/event-stream" } });
});`;

let plinth;
before(async () => {
  plinth = await startFunctions(
    { echo, answers, back, ticker, open: answers, "_shared/cors.ts": cors },
    { "functions.open.verify_jwt": false },
  );
});
after(() => plinth?.stop());

const invoke = async (name, options, client = plinth.connect()) => client.functions.invoke(name, options);

for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
  test(`a function can be called with ${method}`, async () => {
    const { data, error } = await invoke("echo", { method });

    assert.equal(error, null);
    assert.equal(data.method, method);
  });
}

const bodies = [
  ["an object", { a: [1, null] }, "application/json", '{"a":[1,null]}'],
  ["a text", "hello", "text/plain", "hello"],
  ["a blob", new Blob(["blob"]), "application/octet-stream", "blob"],
  ["bytes", new TextEncoder().encode("bytes").buffer, "application/octet-stream", "bytes"],
];
for (const [name, body, type, text] of bodies) {
  test(`${name} arrives with its type`, async () => {
    const { data, error } = await invoke("echo", { body });

    assert.equal(error, null);
    assert.ok(data.type.startsWith(type), data.type);
    assert.equal(data.body, text);
  });
}

test("a form arrives with its files", async () => {
  const form = new FormData();
  form.set("name", "Ann");
  form.set("picture", new File(["x"], "x.png"));

  const { data } = await invoke("echo", { body: form });

  assert.deepEqual(data.body, { name: "Ann", picture: "x.png" });
});

test("a path, a query, headers and a region are passed on", async () => {
  const { data } = await invoke("echo/tasks/7?x=1", { headers: { "x-own": "yes" }, region: "eu-west-1" });

  const url = new URL(data.url);
  assert.equal(`${url.protocol}//${url.host}`, plinth.apiUrl);
  assert.equal(url.pathname, "/echo/tasks/7");
  assert.equal(url.searchParams.get("x"), "1");
  assert.equal(url.searchParams.get("forceFunctionRegion"), "eu-west-1");
  assert.equal(data.headers["x-region"], "eu-west-1");
  assert.equal(data.headers["x-own"], "yes");
  assert.match(data.headers["x-client-info"], /^supabase-js/);
  assert.equal(data.headers["x-forwarded-host"], new URL(plinth.apiUrl).hostname);
});

test("responses are decoded by their content type", async () => {
  const read = async (kind) => (await invoke(`answers/${kind}`)).data;

  assert.deepEqual(await read("json"), { a: [1, null] });
  assert.deepEqual(new Uint8Array(await (await read("bytes")).arrayBuffer()), new Uint8Array([1, 2, 3]));
  assert.equal(await (await read("pdf")).text(), "%PDF");
  assert.equal((await read("form")).get("a"), "b");
  assert.equal(await (await read("events")).text(), "data: 1\n\n");
  assert.equal(await read("html"), "<p>hi</p>");
  assert.equal(await read("plain"), "plain");
});

test("events arrive while they are made, whatever the client could unpack", async () => {
  const client = plinth.connect();

  const { data: reply } = await client.functions.invoke("ticker", {
    method: "GET",
    headers: { "accept-encoding": "gzip, br" },
  });

  assert.equal(reply.headers.get("content-encoding"), null);
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let number = 0; number < 3; number++) {
    // The next chunk is produced only after this one has arrived.
    assert.equal((await reader.read()).value, `data: ${number}\n\n`);
    await client.functions.invoke("ticker");
  }
  assert.equal((await reader.read()).done, true);
});

test("what a function has packed itself is not packed again", async () => {
  const headers = { apikey: plinth.keys.publishable, "accept-encoding": "gzip, br" };

  const reply = await fetch(`${plinth.apiUrl}/functions/v1/ticker/packed`, { headers });

  assert.equal(reply.headers.get("content-encoding"), "gzip");
  assert.match(await reply.text(), /^(many words of one kind ){200}$/);
});

test("an error of the function is one of HTTP, with its response", async () => {
  const { error } = await invoke("answers/teapot");

  assert.ok(error instanceof FunctionsHttpError);
  assert.equal(error.context.status, 418);
  assert.equal(await error.context.text(), "short and stout");

  const { error: thrown } = await invoke("answers/throw");
  assert.equal(thrown.context.status, 500);
  assert.equal(thrown.context.headers.get("sb-error-code"), "EDGE_FUNCTION_ERROR");
  assert.equal(await thrown.context.text(), "Internal Server Error");
});

test("a function that is not there is an error of HTTP in JSON", async () => {
  const { error } = await invoke("nobody");

  assert.ok(error instanceof FunctionsHttpError);
  assert.equal(error.context.status, 404);
  assert.deepEqual(await error.context.json(), {
    code: "NOT_FOUND",
    message: "Requested function was not found",
  });
});

test("what a function passes on as the relay's is the relay's", async () => {
  const { error } = await invoke("answers/relayed");

  assert.ok(error instanceof FunctionsRelayError);
});

test("a call can be given up", async () => {
  const late = await invoke("answers/slow", { timeout: 300 });
  assert.ok(late.error instanceof FunctionsFetchError);

  const controller = new AbortController();
  setTimeout(() => controller.abort(), 100);
  const aborted = await invoke("answers/slow", { signal: controller.signal });
  assert.ok(aborted.error instanceof FunctionsFetchError);
});

test("every key of the project opens a function, and nothing else does", async () => {
  for (const key of Object.values(plinth.keys)) {
    const { error } = await invoke("echo", {}, plinth.connect(key));
    assert.equal(error, null);
  }
  const { error } = await invoke("echo", {}, plinth.connect("sb_publishable_unknown"));
  assert.equal(error.context.status, 401);
  assert.equal(error.context.headers.get("sb-error-code"), "UNAUTHORIZED_INVALID_JWT_FORMAT");
  assert.equal(error.context.headers.get("x-relay-error"), null);

  const bare = await fetch(`${plinth.apiUrl}/functions/v1/echo`);
  assert.equal(bare.status, 401);
  assert.equal((await bare.json()).msg, "Missing authorization header");
  const open = await fetch(`${plinth.apiUrl}/functions/v1/open/json`);
  assert.equal(open.status, 200);
});

test("a function acts for the signed-in user, and calls Plinth back", async () => {
  const client = plinth.connect();
  const user = newUser();
  await client.auth.signUp(user);

  const { data, error } = await invoke("back", {}, client);

  assert.equal(error, null);
  assert.deepEqual(data, { user: user.email, nested: "nested", users: 1, error: null });
});

test("a browser's preflight reaches the function without a token", async () => {
  const preflight = await fetch(`${plinth.apiUrl}/functions/v1/echo`, {
    method: "OPTIONS",
    headers: { origin: "https://app.example", "access-control-request-method": "POST" },
  });

  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers.get("access-control-allow-origin"), "*");
  assert.match(preflight.headers.get("access-control-allow-headers"), /x-client-info/);
});

test("pages stay pages, in a sandbox", async () => {
  const page = await fetch(`${plinth.apiUrl}/functions/v1/open/html`);

  assert.equal(page.headers.get("content-type"), "text/html");
  assert.equal(page.headers.get("content-security-policy"), "sandbox allow-scripts allow-forms allow-popups");
});

test("a save is served", async () => {
  const file = join(plinth.folder, "supabase/functions/open/index.ts");
  await writeFile(file, 'Deno.serve(() => new Response("saved"));');

  const began = Date.now();
  let text;
  while (text !== "saved") {
    assert.ok(Date.now() - began < 30_000, `still ${text}`);
    text = await (await fetch(`${plinth.apiUrl}/functions/v1/open`)).text();
  }
});

test("what functions print is in the log, with its request", async () => {
  const file = join(plinth.folder, "supabase/functions/open/index.ts");
  await writeFile(file, 'Deno.serve(() => { console.error("printed", 7); return new Response("printing"); });');
  let response;
  do {
    response = await fetch(`${plinth.apiUrl}/functions/v1/open`);
  } while ((await response.text()) !== "printing");
  const id = response.headers.get("x-request-id");

  const began = Date.now();
  let found;
  while (!found) {
    assert.ok(Date.now() - began < 30_000, "no record");
    const { stdout } = await plinth.cli("logs", "functions", "-o", "json");
    const records = stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    found = records.find((record) => record.message === "printed 7" && record.request_id === id);
  }
  assert.equal(found.fields.function, "open");
});
