// The official CLI deploys functions and sets secrets through the Management API.

import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { startPlinth } from "./support/plinth.mjs";

const hello = 'import { cors } from "../_shared/cors.ts";\nDeno.serve(() => new Response("hello", { headers: cors }));\n';
const shared = 'export const cors = { "Access-Control-Allow-Origin": "*" };\n';
const page = "<!doctype html><title>Page</title>\n";

let plinth;
let token;
before(async () => {
  plinth = await startPlinth({
    files: {
      "supabase/config.toml": [
        'project_id = "cli"',
        "[functions.hello]",
        "verify_jwt = false",
        'static_files = ["./functions/hello/*.html"]',
        "",
      ].join("\n"),
      "supabase/functions/hello/index.ts": hello,
      "supabase/functions/hello/deno.json": '{ "imports": {} }\n',
      "supabase/functions/hello/page.html": page,
      "supabase/functions/_shared/cors.ts": shared,
    },
  });
  const made = await expectSuccess(plinth.cli("tokens", "create", "cli", "-o", "json"));
  token = JSON.parse(made.stdout).token;
  const profile = await expectSuccess(plinth.cli("cli-profile"));
  await writeFile(join(plinth.folder, "plinth.yaml"), profile.stdout);
});
after(() => plinth?.stop());

async function expectSuccess(ended) {
  const { code, stdout, stderr } = await ended;
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  return { stdout, stderr };
}

/** The official CLI with a profile for this Plinth, which `plinth` prints. */
function supabase(...args) {
  return supabaseAs(token, ...args);
}

function supabaseAs(accessToken, ...args) {
  const variables = { SUPABASE_ACCESS_TOKEN: accessToken };
  return plinth.supabaseWith(variables, ...args, "--profile", join(plinth.folder, "plinth.yaml"));
}

/** The same for the project, non-interactive. */
function remote(...args) {
  return supabase(...args, `--remote=${plinth.ref}`, "--yes");
}

async function api(path, options = {}) {
  const headers = { authorization: `Bearer ${token}`, ...options.headers };
  const response = await fetch(`${plinth.apiUrl}/v1/projects/${plinth.ref}${path}`, { ...options, headers });
  assert.ok(response.ok, `${response.status} ${await response.clone().text()}`);
  return response;
}

const listed = async () => {
  const functions = await (await api("/functions")).json();
  return functions.map(({ slug, version, verify_jwt }) => ({ slug, version, verify_jwt }));
};

async function write(path, text) {
  const file = join(plinth.folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

test("a token and a profile are all it takes", async () => {
  const whoami = await expectSuccess(supabase("whoami"));
  const projects = await expectSuccess(supabase("projects", "list", "-o", "json"));
  await expectSuccess(supabase("orgs", "create", "Shop", "--yes"));
  const orgs = await expectSuccess(supabase("orgs", "list", "-o", "json"));

  assert.match(whoami.stdout, /token cli/);
  const [project] = JSON.parse(projects.stdout);
  assert.equal(project.id ?? project.ref, plinth.ref);
  assert.deepEqual(
    JSON.parse(orgs.stdout).map(({ name }) => name),
    ["Default", "Shop"],
  );
});

test("one function is deployed with what it imports, and listed", async () => {
  await expectSuccess(remote("functions", "deploy", "hello", "--use-api"));

  assert.deepEqual(await listed(), [{ slug: "hello", version: 1, verify_jwt: false }]);
  const { stdout } = await expectSuccess(remote("functions", "list", "-o", "json"));
  const [entry] = JSON.parse(stdout);
  assert.equal(entry.slug, "hello");
  assert.equal(entry.status, "ACTIVE");
  assert.equal(entry.version, 1);
  assert.match(entry.entrypoint_path, /^file:\/\/\/.*_1\/supabase\/functions\/hello\/index\.ts$/);
  const form = await (await api("/functions/hello/body", { headers: { accept: "multipart/form-data" } })).formData();
  const files = form.getAll("file");
  assert.deepEqual(
    files.map((file) => file.name).sort(),
    [
      "supabase/functions/_shared/cors.ts",
      "supabase/functions/hello/deno.json",
      "supabase/functions/hello/index.ts",
      "supabase/functions/hello/page.html",
    ],
  );
  const index = files.find((file) => file.name.endsWith("index.ts"));
  assert.equal(await index.text(), hello);
});

test("several functions become active together", async () => {
  await write("supabase/functions/second/index.ts", 'Deno.serve(() => new Response("2"));\n');

  // By default the CLI also lets the server bundle.
  await expectSuccess(remote("functions", "deploy"));

  assert.deepEqual(await listed(), [
    { slug: "hello", version: 2, verify_jwt: false },
    { slug: "second", version: 1, verify_jwt: true },
  ]);
});

test("a download brings back what was deployed", async () => {
  const functions = join(plinth.folder, "supabase/functions");
  await rm(functions, { recursive: true });

  await expectSuccess(remote("functions", "download", "hello", "--use-api"));

  assert.equal(await readFile(join(functions, "hello/index.ts"), "utf8"), hello);
  assert.equal(await readFile(join(functions, "hello/page.html"), "utf8"), page);
  assert.equal(await readFile(join(functions, "_shared/cors.ts"), "utf8"), shared);
});

test("a deleted function is gone", async () => {
  await expectSuccess(remote("functions", "delete", "second"));

  assert.deepEqual(
    (await listed()).map(({ slug }) => slug),
    ["hello"],
  );
  const { code, stdout, stderr } = await remote("functions", "delete", "second");
  assert.notEqual(code, 0, `${stdout}\n${stderr}`);
});

test("pruning removes what the folder does not have", async () => {
  await write("supabase/functions/third/index.ts", 'Deno.serve(() => new Response("3"));\n');
  await expectSuccess(remote("functions", "deploy", "third", "--use-api"));
  await rm(join(plinth.folder, "supabase/functions/third"), { recursive: true });

  await expectSuccess(remote("functions", "deploy", "--use-api", "--prune"));

  assert.deepEqual(
    (await listed()).map(({ slug }) => slug),
    ["hello"],
  );
});

test("a name that no URL can carry is rejected", async () => {
  const { code } = await remote("functions", "deploy", "1st", "--use-api");
  assert.notEqual(code, 0);
});

test("a token that may deploy, and nothing else, is enough to deploy", async () => {
  const scopes = "edge_functions_read,edge_functions_write";
  const limits = ["--scope", scopes, "--project", plinth.ref];
  const made = await expectSuccess(plinth.cli("tokens", "create", "deploys", ...limits, "-o", "json"));
  const { token: deploys } = JSON.parse(made.stdout);
  const target = `--remote=${plinth.ref}`;
  const as = (...args) => supabaseAs(deploys, ...args, target, "--yes");

  await expectSuccess(as("functions", "deploy", "hello", "--use-api"));
  await expectSuccess(as("functions", "list"));
  const { code, stdout, stderr } = await as("secrets", "set", "A=1");

  assert.notEqual(code, 0);
  assert.match(stdout + stderr, /edge_functions_secrets_write/);
});

test("secrets are set, listed by digest and unset", async () => {
  await write("more.env", "FROM_FILE=abc\n");
  await expectSuccess(remote("secrets", "set", "STRIPE_KEY=abc", "OTHER=x y=z"));
  await expectSuccess(remote("secrets", "set", "--env-file", join(plinth.folder, "more.env")));

  const { stdout } = await expectSuccess(remote("secrets", "list", "-o", "json"));

  const secrets = JSON.parse(stdout);
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  assert.deepEqual(secrets.map(({ name }) => name).sort(), ["FROM_FILE", "OTHER", "STRIPE_KEY"]);
  assert.equal(secrets.find(({ name }) => name === "STRIPE_KEY").value, abc);
  await expectSuccess(remote("secrets", "unset", "STRIPE_KEY", "OTHER"));
  const left = await (await api("/secrets")).json();
  assert.deepEqual(
    left.map(({ name }) => name),
    ["FROM_FILE"],
  );
});

/** Deploys through the API; functions of the folder would take precedence. */
async function deploy(slug, source) {
  const form = new FormData();
  form.append("metadata", JSON.stringify({ name: slug, entrypoint_path: "index.ts" }));
  form.append("file", new Blob([source], { type: "application/typescript" }), "index.ts");
  const response = await api(`/functions/deploy?slug=${slug}`, { method: "POST", body: form });
  assert.equal(response.status, 201);
}

async function call(slug) {
  const headers = { apikey: plinth.keys.publishable };
  const response = await fetch(`${plinth.apiUrl}/functions/v1/${slug}`, { headers });
  return `${response.status} ${await response.text()}`;
}

/** Calls until the response is the expected one. */
async function expectEventually(slug, expected) {
  const late = Date.now() + 60_000;
  for (;;) {
    const reply = await call(slug);
    if (reply === expected) return;
    assert.ok(Date.now() < late, `${reply}, expected ${expected}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("calls see what was deployed last, also after the function was deleted", async () => {
  await deploy("called", 'Deno.serve(() => new Response("first"));');
  await expectEventually("called", "200 first");
  await deploy("called", 'Deno.serve(() => new Response("second " + Deno.env.get("WORD")));');
  await expectEventually("called", "200 second undefined");
  await expectSuccess(remote("secrets", "set", "WORD=told"));
  await expectEventually("called", "200 second told");

  await expectSuccess(remote("functions", "delete", "called"));
  assert.match(await call("called"), /^404 /);
  await deploy("called", 'Deno.serve(() => new Response("third"));');
  assert.equal(await call("called"), "200 third");
  await expectSuccess(remote("secrets", "unset", "WORD"));
});

test("no request fails while versions are deployed", async () => {
  const version = (number) => `Deno.serve(async (req) => new Response("${number} " + (await req.text()).length));`;
  await deploy("busy", version(0));
  await expectEventually("busy", "200 0 0");
  const body = "x".repeat(10_000);
  const responses = [];
  let isDone = false;
  const client = async () => {
    while (!isDone || responses.length < 1000) {
      const headers = { apikey: plinth.keys.publishable };
      const response = await fetch(`${plinth.apiUrl}/functions/v1/busy`, { method: "POST", headers, body });
      responses.push(`${response.status} ${await response.text()}`);
    }
  };
  const clients = Array.from({ length: 8 }, client);

  for (const number of [1, 2, 3, 4]) {
    await deploy("busy", version(number));
    await expectEventually("busy", `200 ${number} 0`);
  }
  isDone = true;
  await Promise.all(clients);

  const known = new Set([0, 1, 2, 3, 4].map((number) => `200 ${number} 10000`));
  assert.deepEqual([...new Set(responses)].sort(), [...known]);
  assert.ok(responses.length >= 1000);
});

test("an edit of config.toml changes a function that is served", async () => {
  await write("supabase/functions/greets/index.ts", 'Deno.serve(() => new Response(Deno.env.get("WORD") ?? "none"));\n');
  await expectEventually("greets", "200 none");
  const config = join(plinth.folder, "supabase/config.toml");
  const before = await readFile(config, "utf8");

  await writeFile(config, `${before}\n[functions.greets]\nenv = { WORD = "edited" }\n`);
  await expectEventually("greets", "200 edited");

  await writeFile(config, `${before}\n[functions.greets]\nenabled = false\n`);
  await expectEventually("greets", '404 {"code":"NOT_FOUND","message":"Requested function was not found"}');
  await writeFile(config, before);
  await rm(join(plinth.folder, "supabase/functions/greets"), { recursive: true });
});

test("a form with metadata first and bare names is deployed, as the MCP server sends it", async () => {
  const form = new FormData();
  const metadata = { name: "bare", entrypoint_path: "index.ts" };
  form.append("metadata", new Blob([JSON.stringify(metadata)], { type: "application/json" }));
  const source = new Blob(['Deno.serve(() => new Response("bare"));'], { type: "application/typescript" });
  form.append("file", source, "index.ts");

  const response = await api("/functions/deploy?slug=bare", { method: "POST", body: form });

  assert.equal(response.status, 201);
  const made = await response.json();
  assert.match(made.entrypoint_path, /_1\/index\.ts$/);
  assert.equal(made.import_map, false);
  const body = await api("/functions/bare/body", { headers: { accept: "multipart/form-data" } });
  const back = await body.formData();
  assert.deepEqual(JSON.parse(back.get("metadata")), { deno2_entrypoint_path: "index.ts" });
  assert.equal(back.get("file").name, "index.ts");
});

test("more than 20 MB are rejected with 413, also while the client still sends", async () => {
  const form = new FormData();
  form.append("file", new Blob([Buffer.alloc(30 << 20, " ")]), "index.ts");
  form.append("metadata", JSON.stringify({ entrypoint_path: "index.ts" }));

  const response = await fetch(`${plinth.apiUrl}/v1/projects/${plinth.ref}/functions/deploy?slug=large`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: form,
  });

  assert.equal(response.status, 413);
  const { message } = await response.json();
  assert.match(message, /larger than 20 MB/);
});
