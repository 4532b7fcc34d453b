// The server starts, responds, and is accepted by the published clients.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createClient } from "@supabase/supabase-js";

import { startPlinth } from "./support/plinth.mjs";

let plinth;
before(async () => {
  plinth = await startPlinth();
});
after(() => plinth?.stop());

test("the process reports that it is healthy", async () => {
  const response = await fetch(`${plinth.apiUrl}/health`);
  assert.equal(response.status, 200);
});

test("the client library accepts the URL and the publishable key", async () => {
  const client = createClient(plinth.apiUrl, plinth.keys.publishable);

  const { data, error } = await client.auth.getSession();

  assert.equal(error, null);
  assert.equal(data.session, null);
});

test("status prints every key that an app needs", () => {
  assert.match(plinth.keys.publishable, /^sb_publishable_/);
  assert.match(plinth.keys.secret, /^sb_secret_/);
  for (const legacy of [plinth.keys.anon, plinth.keys.serviceRole]) {
    assert.equal(legacy.split(".").length, 3);
  }
  assert.match(plinth.dbUrl, /^postgres(ql)?:\/\//);
});

test("the official command line runs", async () => {
  const { code, stdout } = await plinth.supabase("--version");
  assert.equal(code, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+/);
});
