// Functions as people write them: the official CLI's templates, and frameworks from npm.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser } from "../support/accounts.mjs";
import { startFunctions } from "./support.mjs";

const express = `
import express from "npm:express@5.1.0";
const app = express();
app.use(express.json());
app.get("/express/:id", (req, res) => res.json({ id: req.params.id }));
app.post("/express", (req, res) => res.status(201).json(req.body));
// Many examples log a line when they start.
const listener = app.listen(3000, () => console.log("listening on port " + listener.address().port));
`;

const fastify = `
import Fastify from "npm:fastify@5.6.1";
const app = Fastify({ logger: true, pluginTimeout: 120_000 });
app.get("/fastify/:id", async (req) => ({ id: (req.params as { id: string }).id }));
app.post("/fastify", async (req, reply) => reply.code(201).send(req.body));
app.listen({ port: 3000 });
`;

const koa = `
import Koa from "npm:koa@3.0.1";
new Koa().use((ctx) => { ctx.body = { path: ctx.path }; }).listen(3000);
`;

const oak = `
import { Application, Router } from "npm:@oakserver/oak@14.1.0";
const router = new Router();
router.get("/oak/:id", (ctx) => { ctx.response.body = { id: ctx.params.id, url: ctx.request.url.href }; });
router.post("/oak", async (ctx) => {
  ctx.response.status = 201;
  ctx.response.body = await ctx.request.body.json();
});
const app = new Application();
app.use(router.routes());
app.use(router.allowedMethods());
app.listen({ port: 8000 });
`;

const honoOnNode = `
import { serve } from "npm:@hono/node-server@1.19.5";
import { Hono } from "npm:hono@4.10.0";
const app = new Hono().basePath("/hono-on-node");
app.get("/:id", (c) => c.json({ id: c.req.param("id") }));
serve({ fetch: app.fetch, port: 3000 });
`;

const sockets = `
import { createServer } from "node:http";
import { WebSocketServer } from "npm:ws@8.18.3";
const server = createServer((req, res) => res.end("no socket at " + req.url));
const sockets = new WebSocketServer({ server });
sockets.on("connection", (socket, req) => socket.on("message", (data) => socket.send(req.url + " heard " + data)));
server.listen(3000);
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

const pinned = `
import ms from "npm:ms@2";
import { createClient } from "supabase";
// The locked version has no week support.
Deno.serve(() => Response.json([ms("1w") ?? null, typeof createClient]));
`;
const lock = {
  version: "5",
  specifiers: { "npm:ms@2": "2.0.0" },
  npm: {
    "ms@2.0.0": {
      integrity: "sha512-Tpp60P6IUJDTuOq/5Z8cdskzJujfwqfOTkrwIwj7IRISpnkJnT6SyJ4PCPnGMoFjC9ddhal5KVIYtAt97ix05A==",
    },
  },
};

const outward = `
Deno.serve(async () => {
  const socket = new WebSocket(Deno.env.get("SUPABASE_URL")!.replace("http", "ws") + "/functions/v1/sockets/inner");
  const heard = new Promise<string>((resolve, reject) => {
    socket.onopen = () => socket.send("from inside");
    socket.onmessage = (event) => resolve(event.data);
    socket.onerror = () => reject(new Error("the socket broke"));
  });
  return new Response(await heard);
});
`;

const tokens = `
import { createRemoteJWKSet, jwtVerify } from "npm:jose@6.1.0";
const url = Deno.env.get("SUPABASE_URL")!;
const issuer = Deno.env.get("SB_JWT_ISSUER") ?? url + "/auth/v1";
const keys = createRemoteJWKSet(new URL(url + "/auth/v1/.well-known/jwks.json"));
Deno.serve(async (req) => {
  const token = req.headers.get("authorization")!.replace("Bearer ", "");
  return Response.json((await jwtVerify(token, keys, { issuer })).payload.sub);
});
`;

const fonts = `
import PDFDocument from "npm:pdfkit@0.17.2";
import { Buffer } from "node:buffer";
import { readFile, writeFile } from "node:fs/promises";
Deno.serve(async () => {
  const paper = new PDFDocument();
  const pieces: Uint8Array[] = [];
  paper.on("data", (piece: Uint8Array) => pieces.push(piece));
  const ended = new Promise((resolve) => paper.on("end", resolve));
  paper.text("Written with a font of the package.");
  paper.end();
  await ended;
  const file = Deno.env.get("TMPDIR") + "/paper.pdf";
  await writeFile(file, Buffer.concat(pieces));
  return new Response(await readFile(file), { headers: { "content-type": "application/pdf" } });
});
`;

let plinth;
before(async () => {
  plinth = await startFunctions(
    {
      express,
      hono,
      "hono/deno.json": '{ "imports": { "hono": "npm:hono@4.10.0" } }',
      fastify,
      koa,
      oak,
      "hono-on-node": honoOnNode,
      sockets,
      outward,
      database,
      packaged,
      "packaged/package.json": '{ "dependencies": { "uuid": "11.1.0" } }',
      pinned,
      "pinned/deno.json": '{ "imports": { "supabase": "jsr:@supabase/supabase-js@2" } }',
      "pinned/deno.lock": JSON.stringify(lock),
      misfit: pinned,
      "misfit/deno.json": '{ "imports": { "supabase": "jsr:@supabase/supabase-js@^2" } }',
      "misfit/deno.lock": "no lock",
      tokens,
      fonts,
      upload: "Deno.serve(async (req) => new Response(String((await req.arrayBuffer()).byteLength)));",
    },
    { "plinth.functions.max_body": "1MiB", "functions.sockets.verify_jwt": false },
  );
});
after(() => plinth?.stop());

const call = (path, options = {}) =>
  fetch(`${plinth.apiUrl}/functions/v1/${path}`, {
    ...options,
    headers: { apikey: plinth.keys.publishable, ...options.headers },
  });

/** Retries until a function that was just written is loaded. */
async function retryUntilLoaded(call) {
  const began = Date.now();
  for (;;) {
    const result = await call();
    if (result.error?.context?.status !== 404) return result;
    assert.ok(Date.now() - began < 30_000, "the function is not found");
  }
}

test("a template for keys runs as the official CLI writes it", async () => {
  const { code, stderr } = await plinth.supabase("functions", "new", "by-key", "--auth", "apikey", "--yes");
  assert.equal(code, 0, stderr);

  const client = plinth.connect();
  const { data, error } = await retryUntilLoaded(() => client.functions.invoke("by-key", { body: { name: "Ann" } }));

  assert.equal(error, null);
  assert.deepEqual(data, { message: "Hello Ann!" });
});

test("a template for users knows who calls", async () => {
  await plinth.supabase("functions", "new", "by-user", "--auth", "user", "--yes");
  const client = plinth.connect();
  const user = newUser();
  await client.auth.signUp(user);

  const { data, error } = await retryUntilLoaded(() => client.functions.invoke("by-user", { body: { name: "Ann" } }));
  const stranger = await plinth.connect().functions.invoke("by-user", { body: { name: "Ann" } });

  assert.equal(error, null);
  assert.match(JSON.stringify(data), new RegExp(user.email));
  assert.equal(stranger.error.context.status, 401);
});

test("a function checks a user's token by itself", async () => {
  const client = plinth.connect();
  const { data: { user } } = await client.auth.signUp(newUser());

  const { data, error } = await client.functions.invoke("tokens");

  assert.equal(error, null);
  assert.equal(data, user.id);
});

test("a package finds its own files, and makes new ones", async () => {
  const response = await call("fonts");
  assert.equal(response.status, 200);
  assert.match(await response.text(), /^%PDF-1/);
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

for (const name of ["oak", "fastify"]) {
  test(`${name} serves below its function's name, and reads what it is sent`, async () => {
    const client = plinth.connect();

    const got = await client.functions.invoke(`${name}/7`, { method: "GET" });
    const posted = await client.functions.invoke(name, { body: { a: 1 } });

    assert.equal(got.error, null, await got.error?.context.text());
    assert.equal(got.data.id, "7");
    assert.deepEqual([posted.error, posted.data], [null, { a: 1 }]);
    assert.equal(posted.response.status, 201);
  });
}

test("versions that were pinned are used, and a file that pins none is named", async () => {
  assert.deepEqual(await (await call("pinned")).json(), [null, "function"]);
  const misfit = await call("misfit");
  assert.equal(misfit.status, 503);
  assert.match((await misfit.json()).message, /supabase\/functions\/misfit\/deno\.lock: /);
});

test("oak knows the address that it was called by", async () => {
  assert.equal((await (await call("oak/7")).json()).url, `${plinth.apiUrl}/oak/7`);
});

test("koa and hono serve as they do on Node", async () => {
  const client = plinth.connect();

  const koa = await client.functions.invoke("koa/a", { method: "GET" });
  const hono = await client.functions.invoke("hono-on-node/7", { method: "GET" });

  assert.deepEqual([koa.error, koa.data], [null, { path: "/koa/a" }]);
  assert.deepEqual([hono.error, hono.data], [null, { id: "7" }]);
});

test("a server of npm:ws works, beside an HTTP server", async () => {
  assert.equal(await (await call("sockets/x")).text(), "no socket at /sockets/x");
  const socket = new WebSocket(`${plinth.apiUrl.replace("http", "ws")}/functions/v1/sockets/chat?who=ann`);
  const heard = new Promise((resolve, reject) => {
    socket.onopen = () => socket.send("hello");
    socket.onmessage = (event) => resolve(event.data);
    socket.onerror = () => reject(new Error("the socket broke"));
  });

  assert.equal(await heard, "/sockets/chat?who=ann heard hello");
  socket.close();
});

test("a function opens sockets itself", async () => {
  assert.equal(await (await call("outward")).text(), "/sockets/inner heard from inside");
});

test("a function reaches its database", async () => {
  assert.deepEqual(await (await call("database")).json(), [{ who: "postgres", two: 2 }]);
});

test("a package.json beside the function names its packages", async () => {
  assert.equal(await (await call("packaged")).text(), "36");
});

test("a body that turns out to be too large is rejected while it is sent", async () => {
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
  const rejected = await upload(17);
  assert.equal(rejected.status, 413);
  assert.equal((await rejected.json()).code, "PAYLOAD_TOO_LARGE");
});
