// The official CLI's local commands work beside plinth on the same folder and database.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startPlinth } from "./support/plinth.mjs";

let plinth;
before(async () => {
  // The official tool finds the local database by this port and by nothing else.
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

async function succeeds(ended) {
  const { code, stdout, stderr } = await ended;
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  return stdout;
}

test("migration list sees what plinth applied at its start", async () => {
  const listed = await succeeds(plinth.supabase("migration", "list"));

  const row = listed.split("\n").find((line) => line.includes("20240101000000"));
  assert.equal(row.match(/20240101000000/g).length, 2, "on both sides");
});

test("db push applies a new file, and plinth agrees", async () => {
  const file = "supabase/migrations/20240102000000_notes.sql";
  await writeFile(
    join(plinth.folder, file),
    "create table public.notes (id int);\nalter table public.notes enable row level security;\n",
  );

  await succeeds(plinth.supabase("db", "push", "--yes"));

  const rows = JSON.parse(await succeeds(plinth.cli("migration", "list", "-o", "json")));
  assert.deepEqual(
    rows.map((row) => [row.local, row.remote]),
    [
      ["20240101000000", "20240101000000"],
      ["20240102000000", "20240102000000"],
    ],
  );
  await succeeds(plinth.cli("migration", "list", "--check"));
});

test("db query reaches the seeded rows as postgres", async () => {
  const sql = "select count(*) as rows, current_user as me from public.todos";
  const answer = await succeeds(plinth.supabase("db", "query", sql, "-o", "json"));

  assert.match(answer, /postgres/);
  assert.match(answer, /\b1\b/);
});
