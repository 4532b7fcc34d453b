// Functions as people write them: the official CLI's templates, and frameworks from npm.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { somebody } from "../support/accounts.mjs";
import { startFunctions } from "./support.mjs";

const express = `
import express from "npm:express@5.1.0";
const app = express();
app.use(express.json());
app.get("/express/:id", (req, res) => res.json({ id: req.params.id }));
app.post("/express", (req, res) => res.status(201).json(req.body));
app.listen(3000);
`;

const hono = `
import { Hono } from "hono";
import { streamText } from "hono/streaming";
const app = new Hono().basePath("/hono");
app.get("/tasks/:id", (c) => c.json({ id: c.req.param("id"), url: c.req.url }));
app.get("/stream", (c) => streamText(c, async (stream) => { for (const word of ["a", "b"]) await stream.write(word); }));
Deno.serve(app.fetch);
`;

const database = `
import postgres from "npm:postgres@3.4.7";
const sql = postgres(Deno.env.get("SUPABASE_DB_URL")!);
Deno.serve(async () => Response.json(await sql\`select current_user as who, 1 + 1 as two\`));
`;

const packaged = `
import { v4 } from "uuid";
Deno.serve(() => new Response(String(v4().length)));
`;

let plinth;
before(async () => {
  plinth = await startFunctions(
    {
      express,
      hono,
      "hono/deno.json": '{ "imports": { "hono": "npm:hono@4.10.0" } }',
      database,
      packaged,
      "packaged/package.json": '{ "dependencies": { "uuid": "11.1.0" } }',
      upload: "Deno.serve(async (req) => new Response(String((await req.arrayBuffer()).byteLength)));",
    },
    { "plinth.functions.max_body": "1MiB" },
  );
});
after(() => plinth?.stop());

const call = (path, options = {}) =>
  fetch(`${plinth.apiUrl}/functions/v1/${path}`, {
    ...options,
    headers: { apikey: plinth.keys.publishable, ...options.headers },
  });

/** A function that was just written is there with the next look at the folder. */
async function once(call) {
  const began = Date.now();
  for (;;) {
    const answer = await call();
    if (answer.error?.context?.status !== 404) return answer;
    assert.ok(Date.now() - began < 30_000, "the function is not found");
  }
}

test("a template for keys runs as the official CLI writes it", async () => {
  const { code, stderr } = await plinth.supabase("functions", "new", "by-key", "--auth", "apikey", "--yes");
  assert.equal(code, 0, stderr);

  const client = plinth.connect();
  const { data, error } = await once(() => client.functions.invoke("by-key", { body: { name: "Ann" } }));

  assert.equal(error, null);
  assert.deepEqual(data, { message: "Hello Ann!" });
});

test("a template for users knows who calls", async () => {
  await plinth.supabase("functions", "new", "by-user", "--auth", "user", "--yes");
  const client = plinth.connect();
  const person = somebody();
  await client.auth.signUp(person);

  const { data, error } = await once(() => client.functions.invoke("by-user", { body: { name: "Ann" } }));
  const stranger = await plinth.connect().functions.invoke("by-user", { body: { name: "Ann" } });

  assert.equal(error, null);
  assert.match(JSON.stringify(data), new RegExp(person.email));
  assert.equal(stranger.error.context.status, 401);
});

test("express serves below its function's name", async () => {
  assert.deepEqual(await (await call("express/7")).json(), { id: "7" });
  const posted = await call("express", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"a":1}',
  });
  assert.equal(posted.status, 201);
  assert.deepEqual(await posted.json(), { a: 1 });
});

test("hono serves below its function's name, and streams", async () => {
  const url = `${plinth.apiUrl}/hono/tasks/7`;
  assert.deepEqual(await (await call("hono/tasks/7")).json(), { id: "7", url });
  assert.equal(await (await call("hono/stream")).text(), "ab");
});

test("a function reaches its database", async () => {
  assert.deepEqual(await (await call("database")).json(), [{ who: "postgres", two: 2 }]);
});

test("a package.json beside the function names its packages", async () => {
  assert.equal(await (await call("packaged")).text(), "36");
});

test("a body that turns out to be too large is refused on its way", async () => {
  const piece = new Uint8Array(64 << 10);
  const stream = (pieces) =>
    new ReadableStream({
      pull(controller) {
        if (pieces-- > 0) controller.enqueue(piece);
        else controller.close();
      },
    });
  const upload = (pieces) => call("upload", { method: "POST", body: stream(pieces), duplex: "half" });

  const fits = await upload(16);
  assert.equal(await fits.text(), String(1 << 20));
  const refused = await upload(17);
  assert.equal(refused.status, 413);
  assert.equal((await refused.json()).code, "PAYLOAD_TOO_LARGE");
});
