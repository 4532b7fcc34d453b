// A security key as the second factor.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser } from "../js-clients/support/accounts.mjs";
import { expectData, expectError } from "./support/results.mjs";
import { addAuthenticator } from "./support/chromium.mjs";
import { openSite } from "./support/site.mjs";

let site;
before(async () => {
  site = await openSite({
    "auth.mfa.web_authn.enroll_enabled": true,
    "auth.mfa.web_authn.verify_enabled": true,
  });
});
after(() => site?.stop());

async function createUser() {
  const ann = newUser();
  const tab = await site.visit("/");
  const device = await addAuthenticator(tab, "security key");
  await expectData(tab.evaluate((user) => toResult(client.auth.signUp(user)), ann));
  return { ann, tab, device };
}

const register = (tab, friendlyName = "key") =>
  tab.evaluate((name) => toResult(client.auth.mfa.webauthn.register({ friendlyName: name })), friendlyName);
const authenticate = (tab, factorId) =>
  tab.evaluate((id) => toResult(client.auth.mfa.webauthn.authenticate({ factorId: id })), factorId);
const level = async (tab) => {
  const pending = tab.evaluate(() => toResult(client.auth.mfa.getAuthenticatorAssuranceLevel()));
  const { currentLevel, nextLevel } = await expectData(pending);
  return [currentLevel, nextLevel];
};
const factorsOf = async (tab) =>
  (await expectData(tab.evaluate(() => toResult(client.auth.mfa.listFactors())))).webauthn;

/** Signs in again with the password only (`aal1`). */
async function signInAgain(tab, ann) {
  await tab.evaluate(() => client.auth.signOut());
  await expectData(tab.evaluate((user) => toResult(client.auth.signInWithPassword(user)), ann));
}

test("a key is registered and raises the level, also at the next sign-in", async () => {
  const { ann, tab, device } = await createUser();

  await expectData(register(tab));
  assert.deepEqual(await level(tab), ["aal2", "aal2"]);
  assert.equal((await device.credentials())[0].rpId, "localhost");
  const [factor] = await factorsOf(tab);
  assert.deepEqual([factor.friendly_name, factor.status], ["key", "verified"]);

  await signInAgain(tab, ann);
  assert.deepEqual(await level(tab), ["aal1", "aal2"]);
  await expectData(authenticate(tab, factor.id));

  assert.deepEqual(await level(tab), ["aal2", "aal2"]);
  const { claims } = await expectData(tab.evaluate(() => toResult(client.auth.getClaims())));
  assert.deepEqual(
    claims.amr.map(({ method }) => method),
    ["mfa/webauthn", "password"],
  );
});

test("each step may be taken by itself", async () => {
  const { ann, tab } = await createUser();
  const confirm = (factorId) =>
    tab.evaluate(async (id) => {
      const webauthn = { rpId: location.hostname, rpOrigins: [location.origin] };
      const { data, error } = await client.auth.mfa.webauthn.challenge({ factorId: id, webauthn });
      if (error) return { error: error.message };
      return toResult(
        client.auth.mfa.webauthn.verify({ ...data, webauthn: { ...webauthn, ...data.webauthn } }),
      );
    }, factorId);

  const { id } = await expectData(
    tab.evaluate(() => toResult(client.auth.mfa.webauthn.enroll({ friendlyName: "by hand" }))),
  );
  assert.deepEqual(await level(tab), ["aal1", "aal1"]);
  await expectData(confirm(id));
  await signInAgain(tab, ann);
  await expectData(confirm(id));

  assert.deepEqual(await level(tab), ["aal2", "aal2"]);
});

test("without the key the level stays low", async () => {
  const { ann, tab, device } = await createUser();
  await expectData(register(tab));
  const [{ id }] = await factorsOf(tab);
  await signInAgain(tab, ann);
  await device.remove();
  await addAuthenticator(tab, "security key");

  const { error } = await authenticate(tab, id);

  assert.ok(error);
  assert.deepEqual(await level(tab), ["aal1", "aal2"]);
});

test("a key cannot verify another user's factor", async () => {
  const [ann, eve] = [await createUser(), await createUser()];
  await expectData(register(ann.tab));
  await expectData(register(eve.tab));
  const [{ id }] = await factorsOf(ann.tab);

  assert.deepEqual(await expectError(authenticate(eve.tab, id)), [404, "mfa_factor_not_found"]);
});
