// supabase-js verifies tokens with the JWKS, before and after a key rotation.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createClient } from "@supabase/supabase-js";

import { startPlinth } from "./support/plinth.mjs";

const sub = "00000000-0000-0000-0000-00000000000a";

let plinth;
before(async () => {
  plinth = await startPlinth();
});
after(() => plinth?.stop());

const client = () => createClient(plinth.apiUrl, plinth.keys.publishable);

async function accessToken() {
  const { code, stdout, stderr } = await plinth.cli("gen", "bearer-jwt", "--sub", sub);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** Settings changes reach the server by NOTIFY, without a restart. */
async function eventually(check) {
  const deadline = Date.now() + 5_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

test("an access token verifies against the published keys", async () => {
  const { data, error } = await client().auth.getClaims(await accessToken());

  assert.equal(error, null);
  assert.equal(data.header.alg, "ES256");
  assert.equal(data.claims.sub, sub);
  assert.equal(data.claims.role, "authenticated");
});

test("a forged token does not", async () => {
  const [header, , signature] = (await accessToken()).split(".");
  const claims = { sub, role: "service_role", exp: Math.floor(Date.now() / 1000) + 60 };
  const forged = [header, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");

  const { data, error } = await client().auth.getClaims(forged);

  assert.equal(data, null);
  assert.match(error.message, /signature/i);
});

test("a rotation publishes the next key and ends no session", async () => {
  const before = await accessToken();
  const kidOf = (token) => JSON.parse(Buffer.from(token.split(".")[0], "base64url")).kid;

  const { code, stderr } = await plinth.cli("keys", "rotate", "--signing", "--yes");
  assert.equal(code, 0, stderr);

  const later = await eventually(async () => {
    const token = await accessToken();
    assert.notEqual(kidOf(token), kidOf(before));
    return token;
  });
  for (const token of [before, later]) {
    const { data, error } = await client().auth.getClaims(token);
    assert.equal(error, null);
    assert.equal(data.claims.sub, sub);
  }
});

test("the key set may be read from any origin and cached for ten minutes", async () => {
  const response = await fetch(`${plinth.apiUrl}/auth/v1/.well-known/jwks.json`, {
    headers: { origin: "https://app.example" },
  });

  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.equal(response.headers.get("cache-control"), "public, max-age=600");
  const { keys } = await response.json();
  assert.ok(keys.length >= 2);
  for (const key of keys) assert.equal(key.d, undefined, "no private part");
});

test("another project has keys of its own", async () => {
  const { stdout } = await plinth.cli("projects", "create", "Other", "-o", "json");
  const other = JSON.parse(stdout);
  // Clients of the same host share their JWKS cache, unless they have different storage keys.
  const theirs = createClient(other.API_URL, other.PUBLISHABLE_KEY, { auth: { storageKey: "other" } });

  const { data, error } = await theirs.auth.getClaims(await accessToken());

  assert.equal(data, null);
  assert.ok(error);
});
