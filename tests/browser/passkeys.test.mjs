// Passkeys: registration and passwordless sign-in.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createClient } from "@supabase/supabase-js";

import { newUser } from "../js-clients/support/accounts.mjs";
import { expectData, expectError } from "./support/results.mjs";
import { addAuthenticator } from "./support/chromium.mjs";
import { openSite } from "./support/site.mjs";

let site;
let admin;
before(async () => {
  site = await openSite({ "auth.passkey.enabled": true });
  const options = { auth: { persistSession: false, autoRefreshToken: false } };
  admin = createClient(site.plinth.apiUrl, site.plinth.keys.secret, options).auth.admin;
});
after(() => site?.stop());

/** A tab with a signed-in user and a virtual authenticator. */
async function createUser() {
  const tab = await site.visit("/");
  const device = await addAuthenticator(tab);
  const { user } = await expectData(tab.evaluate((ann) => toResult(client.auth.signUp(ann)), newUser()));
  return { tab, device, user };
}

const registerPasskey = (tab) => expectData(tab.evaluate(() => toResult(client.auth.registerPasskey())));
const listPasskeys = (tab) => expectData(tab.evaluate(() => toResult(client.auth.passkey.list())));

test("a passkey is registered, and then enough to sign in", async () => {
  const { tab, device, user } = await createUser();

  const passkey = await registerPasskey(tab);
  const [credential] = await device.credentials();
  assert.equal(credential.rpId, "localhost");
  assert.equal(credential.isResidentCredential, true);
  assert.equal(Buffer.from(credential.userHandle, "base64").toString(), user.id);
  await tab.evaluate(() => client.auth.signOut());
  const { session } = await expectData(tab.evaluate(() => toResult(client.auth.signInWithPasskey())));

  assert.equal(session.user.id, user.id);
  const { claims } = await expectData(tab.evaluate(() => toResult(client.auth.getClaims())));
  assert.deepEqual([claims.aal, claims.amr[0].method], ["aal1", "passkey"]);
  const [listed] = await listPasskeys(tab);
  assert.equal(listed.id, passkey.id);
  assert.ok(listed.last_used_at);
});

test("the browser's own forms of options and credentials are those of the server", async () => {
  const { tab, user } = await createUser();

  await expectData(
    tab.evaluate(async () => {
      const { data, error } = await client.auth.passkey.startRegistration();
      if (error) return { error: error.message };
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(data.options);
      const credential = (await navigator.credentials.create({ publicKey })).toJSON();
      return toResult(client.auth.passkey.verifyRegistration({ challengeId: data.challenge_id, credential }));
    }),
  );
  await tab.evaluate(() => client.auth.signOut());
  const { session } = await expectData(
    tab.evaluate(async () => {
      const { data, error } = await client.auth.passkey.startAuthentication();
      if (error) return { error: error.message };
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(data.options);
      const credential = (await navigator.credentials.get({ publicKey })).toJSON();
      return toResult(
        client.auth.passkey.verifyAuthentication({ challengeId: data.challenge_id, credential }),
      );
    }),
  );

  assert.equal(session.user.id, user.id);
});

test("a response counts once, and only for its own challenge", async () => {
  const { tab } = await createUser();
  await registerPasskey(tab);

  const responses = await tab.evaluate(async () => {
    const verify = (challenge, credential) =>
      toResult(client.auth.passkey.verifyAuthentication({ challengeId: challenge.challenge_id, credential }));
    const { data: first } = await client.auth.passkey.startAuthentication();
    const { data: second } = await client.auth.passkey.startAuthentication();
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(first.options);
    const credential = (await navigator.credentials.get({ publicKey })).toJSON();
    return [
      await verify(second, credential),
      await verify(first, credential),
      await verify(first, credential),
    ];
  });

  assert.deepEqual(await expectError(responses[0]), [400, "webauthn_verification_failed"]);
  await expectData(responses[1]);
  assert.deepEqual(await expectError(responses[2]), [400, "webauthn_challenge_not_found"]);
});

test("a device that has a passkey already is not asked to make another", async () => {
  const { tab } = await createUser();
  await registerPasskey(tab);

  const { error } = await tab.evaluate(() => toResult(client.auth.registerPasskey()));

  assert.match(error.message, /registered|excluded|InvalidState/i);
  assert.equal((await listPasskeys(tab)).length, 1);
});

test("passkeys are named and removed, after which they open nothing", async () => {
  const { tab } = await createUser();
  const { id } = await registerPasskey(tab);

  await expectData(
    tab.evaluate(
      (passkeyId) => toResult(client.auth.passkey.update({ passkeyId, friendlyName: "Laptop" })),
      id,
    ),
  );
  assert.deepEqual(
    (await listPasskeys(tab)).map((passkey) => passkey.friendly_name),
    ["Laptop"],
  );
  await expectData(tab.evaluate((passkeyId) => toResult(client.auth.passkey.delete({ passkeyId })), id));
  assert.deepEqual(await listPasskeys(tab), []);

  await tab.evaluate(() => client.auth.signOut());
  const closed = tab.evaluate(() => toResult(client.auth.signInWithPasskey()));
  assert.deepEqual(await expectError(closed), [400, "webauthn_verification_failed"]);
});

test("an administrator sees passkeys and takes lost ones away", async () => {
  const { tab, user } = await createUser();
  const { id: passkeyId } = await registerPasskey(tab);

  const listed = await expectData(admin.passkey.listPasskeys({ userId: user.id }));
  assert.deepEqual(
    listed.map(({ id }) => id),
    [passkeyId],
  );
  await expectData(admin.passkey.deletePasskey({ userId: user.id, passkeyId }));

  assert.deepEqual(await listPasskeys(tab), []);
});
