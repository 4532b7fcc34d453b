// The official MCP server deploys, lists and reads functions through the Management API.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { startPlinth } from "./support/plinth.mjs";

const program = join(dirname(fileURLToPath(import.meta.url)), "node_modules/.bin/mcp-server-supabase");
const hello = 'import { name } from "./name.ts";\nDeno.serve(() => new Response(`Hello ${name}`));\n';

let plinth;
let mcp;
before(async () => {
  plinth = await startPlinth();
  const { code, stdout, stderr } = await plinth.cli("tokens", "create", "mcp", "-o", "json");
  assert.equal(code, 0, stderr);
  mcp = await startMcp(JSON.parse(stdout).token);
});
after(async () => {
  await mcp?.stop();
  await plinth?.stop();
});

/** Starts the MCP server; messages are lines of JSON on stdio. */
async function startMcp(token) {
  const args = [program, "--api-url", plinth.apiUrl, "--access-token", token];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let id = 0;
  const request = (method, params) => {
    id += 1;
    send({ id, method, params });
    return new Promise((resolve) => waiting.set(id, resolve));
  };
  await request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  send({ method: "notifications/initialized" });
  const call = async (name, parameters) => {
    const { result, error } = await request("tools/call", { name, arguments: parameters });
    assert.equal(error, undefined, JSON.stringify(error));
    const [{ text }] = result.content;
    return { isError: result.isError === true, text };
  };
  const stop = async () => {
    child.stdin.end();
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
  return { call, stop };
}

async function expectSuccess(name, parameters) {
  const { isError, text } = await mcp.call(name, { project_id: plinth.ref, ...parameters });
  assert.equal(isError, false, text);
  return JSON.parse(text);
}

test("a function is deployed, listed and read back", async () => {
  const files = [
    { name: "index.ts", content: hello },
    { name: "name.ts", content: 'export const name = "world";\n' },
  ];
  const made = await expectSuccess("deploy_edge_function", {
    name: "hello",
    entrypoint_path: "index.ts",
    verify_jwt: false,
    files,
  });
  assert.equal(made.slug, "hello");
  assert.equal(made.version, 1);

  const listed = await expectSuccess("list_edge_functions", {});
  const functions = Array.isArray(listed) ? listed : listed.functions;
  assert.deepEqual(
    functions.map(({ slug, verify_jwt }) => ({ slug, verify_jwt })),
    [{ slug: "hello", verify_jwt: false }],
  );
  const read = await expectSuccess("get_edge_function", { function_slug: "hello" });
  assert.deepEqual(
    read.files.map(({ name, content }) => ({ name, content })),
    files,
  );
});

test("what cannot be deployed gets a readable error", async () => {
  const { isError, text } = await mcp.call("deploy_edge_function", {
    project_id: plinth.ref,
    name: "broken",
    entrypoint_path: "missing.ts",
    verify_jwt: true,
    files: [{ name: "index.ts", content: "" }],
  });

  assert.equal(isError, true);
  assert.match(text, /Failed to bundle: missing\.ts is not among the files/);
});
