// A project that signs its tokens with a shared secret (HS256): only the server can verify them.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";

import { newUser, startAccounts } from "../support/accounts.mjs";
import { connect, decodeClaims, expectData } from "./support.mjs";

const key = {
  kty: "oct",
  alg: "HS256",
  kid: "shared",
  k: randomBytes(32).toString("base64url"),
  key_ops: ["sign", "verify"],
};

let plinth;
before(async () => {
  plinth = await startAccounts(
    { "auth.signing_keys_path": "./signing_keys.json" },
    { "supabase/signing_keys.json": JSON.stringify([key]) },
  );
});
after(() => plinth?.stop());

test("the client asks the server for the claims", async () => {
  const supabase = connect(plinth);
  const { user } = await expectData(supabase.auth.signUp(newUser()));

  const { claims, header } = await expectData(supabase.auth.getClaims());

  assert.deepEqual([header.alg, header.kid], ["HS256", "shared"]);
  assert.equal(claims.sub, user.id);
});

test("a token signed with anything else is rejected", async () => {
  const supabase = connect(plinth);
  const { session } = await expectData(supabase.auth.signUp(newUser()));
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const unsigned = `${encode({ alg: "none", typ: "JWT" })}.${encode(decodeClaims(session))}.`;
  const cut = `${session.access_token.slice(0, -4)}AAAA`;

  for (const token of [unsigned, cut]) {
    const { data, error } = await supabase.auth.getClaims(token);
    assert.equal(data, null);
    assert.ok(error, token);
  }
});

test("the published keys do not contain the secret", async () => {
  const response = await fetch(`${plinth.apiUrl}/auth/v1/.well-known/jwks.json`);
  const text = await response.text();

  assert.ok(!text.includes(key.k));
  assert.ok(!JSON.parse(text).keys.some(({ kty }) => kty === "oct"));
});
