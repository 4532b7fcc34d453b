// The official CLI's local commands work beside plinth on the same folder and database, and its commands about
// branches and keys through the Management API.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startPlinth } from "./support/plinth.mjs";

let plinth;
let token;
before(async () => {
  // The official CLI finds the local database by this port only.
  const port = await freePort();
  plinth = await startPlinth({
    args: ["--db-port", String(port)],
    files: {
      "supabase/config.toml": `project_id = "cli"\n[db]\nport = ${port}\n`,
      "supabase/migrations/20240101000000_todos.sql":
        "create table public.todos (id bigint generated always as identity primary key);\n",
      "supabase/seed.sql": "insert into public.todos default values;\n",
    },
  });
  const made = JSON.parse(await expectSuccess(plinth.cli("tokens", "create", "cli", "-o", "json")));
  token = made.token;
  await writeFile(join(plinth.folder, "plinth.yaml"), await expectSuccess(plinth.cli("cli-profile")));
});
after(() => plinth?.stop());

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** A command about the project on this Plinth, through a profile that `plinth` prints. */
function remote(...args) {
  const profile = ["--profile", join(plinth.folder, "plinth.yaml")];
  const variables = { SUPABASE_ACCESS_TOKEN: token };
  return plinth.supabaseWith(variables, ...args, `--remote=${plinth.ref}`, "--yes", ...profile);
}

async function expectSuccess(ended) {
  const { code, stdout, stderr } = await ended;
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  return stdout;
}

test("migration list sees what plinth applied at its start", async () => {
  const listed = await expectSuccess(plinth.supabase("migration", "list"));

  const row = listed.split("\n").find((line) => line.includes("20240101000000"));
  assert.equal(row.match(/20240101000000/g).length, 2, "on both sides");
});

test("db push applies a new file, and plinth agrees", async () => {
  const file = "supabase/migrations/20240102000000_notes.sql";
  await writeFile(
    join(plinth.folder, file),
    "create table public.notes (id int);\nalter table public.notes enable row level security;\n",
  );

  await expectSuccess(plinth.supabase("db", "push", "--yes"));

  const rows = JSON.parse(await expectSuccess(plinth.cli("migration", "list", "-o", "json")));
  assert.deepEqual(
    rows.map((row) => [row.local, row.remote]),
    [
      ["20240101000000", "20240101000000"],
      ["20240102000000", "20240102000000"],
    ],
  );
  await expectSuccess(plinth.cli("migration", "list", "--check"));
});

test("db query reaches the seeded rows as postgres", async () => {
  const sql = "select count(*) as rows, current_user as me from public.todos";
  const output = await expectSuccess(plinth.supabase("db", "query", sql, "-o", "json"));

  assert.match(output, /postgres/);
  assert.match(output, /\b1\b/);
});

async function branches() {
  const listed = JSON.parse(await expectSuccess(remote("branches", "list", "-o", "json")));
  return listed.map(({ name, git_branch, persistent }) => ({ name, git_branch, persistent }));
}

test("a branch is created, listed, shown, renamed and deleted", async () => {
  const main = { name: "main", git_branch: undefined, persistent: true };
  assert.deepEqual(await branches(), [main]);

  const made = await expectSuccess(remote("branches", "create", "preview", "-o", "json"));
  const { project_ref: ref, name } = JSON.parse(made.slice(made.indexOf("{")));
  assert.equal(name, "preview");
  assert.notEqual(ref, plinth.ref);
  assert.deepEqual(await branches(), [main, { name: "preview", git_branch: undefined, persistent: false }]);

  const shown = JSON.parse(await expectSuccess(remote("branches", "get", "preview", "-o", "json")));
  const { port } = new URL(plinth.dbUrl);
  for (const name of ["POSTGRES_URL", "POSTGRES_URL_NON_POOLING"]) {
    const url = new URL(shown[name]);
    assert.deepEqual([url.username, url.port, url.pathname], [`postgres.${ref}`, port, "/postgres"], name);
  }
  assert.match(shown.SUPABASE_PUBLISHABLE_KEY, /^sb_publishable_/);
  assert.notEqual(shown.SUPABASE_PUBLISHABLE_KEY, plinth.keys.publishable);
  assert.match(await expectSuccess(remote("branches", "get", "preview")), new RegExp(`postgres\\.${ref}`));
  assert.match(await expectSuccess(remote("branches", "get", "main")), /ACTIVE_HEALTHY/);

  await expectSuccess(remote("branches", "update", "preview", "--name", "renamed", "--git-branch", "feature"));
  assert.deepEqual(await branches(), [main, { name: "renamed", git_branch: "feature", persistent: false }]);

  await expectSuccess(remote("branches", "delete", "renamed"));
  assert.deepEqual(await branches(), [main]);
  const { code, stdout, stderr } = await remote("branches", "delete", "renamed");
  assert.notEqual(code, 0, `${stdout}\n${stderr}`);
});

test("projects api-keys lists the keys, and secret ones when asked", async () => {
  const list = async (...args) => {
    const keys = JSON.parse(await expectSuccess(remote("projects", "api-keys", "-o", "json", ...args)));
    return Object.fromEntries(keys.map(({ name, type, api_key }) => [`${type} ${name}`, api_key]));
  };

  const masked = await list();
  const revealed = await list("--reveal");

  assert.deepEqual(Object.keys(masked).sort(), [
    "legacy anon",
    "legacy service_role",
    "publishable default",
    "secret default",
  ]);
  assert.equal(masked["publishable default"], plinth.keys.publishable);
  assert.notEqual(masked["secret default"], plinth.keys.secret);
  assert.equal(revealed["secret default"], plinth.keys.secret);
  assert.equal(revealed["legacy anon"], plinth.keys.anon);
  await expectSuccess(remote("projects", "api-keys"));
});
