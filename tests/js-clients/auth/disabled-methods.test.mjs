// Auth methods that are disabled by default or not implemented return specific error codes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser, site, startAccounts } from "../support/accounts.mjs";
import { connect, connectAsAdmin, expectData, expectError } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startAccounts();
});
after(() => plinth?.stop());

test("disabled sign-in methods return their error codes", async () => {
  const { auth } = connect(plinth);
  const ethereum = { chain: "ethereum", message: "let me in", signature: `0x${"0".repeat(130)}` };
  const solana = { chain: "solana", message: "let me in", signature: new Uint8Array(64) };
  const cases = [
    [auth.signInAnonymously(), [422, "anonymous_provider_disabled"]],
    [auth.signInWithOtp({ phone: "15550100001" }), [400, "phone_provider_disabled"]],
    [auth.signInWithSSO({ domain: "mail.dev" }), [404, "saml_provider_disabled"]],
    [auth.passkey.startAuthentication(), [404, "passkey_disabled"]],
    [auth.signInWithWeb3(ethereum), [422, "web3_provider_disabled"]],
    [auth.signInWithWeb3(solana), [422, "web3_provider_disabled"]],
  ];
  for (const [reply, expected] of cases) assert.deepEqual(await expectError(reply), expected);
});

test("a provider that is not configured is rejected", async () => {
  const { url } = await expectData(
    connect(plinth).auth.signInWithOAuth({
      provider: "github",
      options: { redirectTo: site, skipBrowserRedirect: true },
    }),
  );

  const response = await fetch(url, { redirect: "manual" });

  assert.equal(response.status, 400);
  assert.equal((await response.json()).error_code, "validation_failed");
});

test("features that are disabled by default are rejected", async () => {
  const supabase = connect(plinth, { experimental: { recoveryCodes: true } });
  await expectData(supabase.auth.signUp(newUser()));
  const { auth } = supabase;
  const link = { provider: "github", options: { skipBrowserRedirect: true } };
  const { recoveryCodes } = auth.mfa;

  assert.deepEqual(await expectError(auth.linkIdentity(link)), [404, "manual_linking_disabled"]);
  assert.deepEqual(await expectError(auth.oauth.listGrants()), [404, "feature_disabled"]);
  const phone = auth.mfa.enroll({ factorType: "phone", phone: "15550100001" });
  assert.deepEqual(await expectError(phone), [422, "mfa_phone_enroll_not_enabled"]);
  assert.deepEqual(await expectError(auth.mfa.webauthn.enroll({ friendlyName: "key" })), [
    422,
    "mfa_webauthn_enroll_not_enabled",
  ]);
  // Recovery codes, an experimental feature of the client, are not implemented.
  const unknown = [
    recoveryCodes.getStatus(),
    recoveryCodes.generate(),
    recoveryCodes.verify({ code: "abcd-efgh" }),
    recoveryCodes.regenerate(),
    recoveryCodes.unenroll(),
  ];
  for (const reply of unknown) assert.ok([404, 405].includes((await expectError(reply))[0]));
});

test("applications cannot be registered while the OAuth server is off", async () => {
  const { oauth } = connectAsAdmin(plinth).auth.admin;

  assert.deepEqual(await expectError(oauth.listClients()), [404, "feature_disabled"]);
});
