// A security key as the second factor.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { somebody } from "../js-clients/support/accounts.mjs";
import { done, refusal } from "./support/answers.mjs";
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

async function member() {
  const ann = somebody();
  const tab = await site.visit("/");
  const device = await addAuthenticator(tab, "security key");
  await done(tab.evaluate((who) => answer(client.auth.signUp(who)), ann));
  return { ann, tab, device };
}

const register = (tab, friendlyName = "key") =>
  tab.evaluate((name) => answer(client.auth.mfa.webauthn.register({ friendlyName: name })), friendlyName);
const authenticate = (tab, factorId) =>
  tab.evaluate((id) => answer(client.auth.mfa.webauthn.authenticate({ factorId: id })), factorId);
const level = async (tab) => {
  const answered = tab.evaluate(() => answer(client.auth.mfa.getAuthenticatorAssuranceLevel()));
  const { currentLevel, nextLevel } = await done(answered);
  return [currentLevel, nextLevel];
};
const factorsOf = async (tab) =>
  (await done(tab.evaluate(() => answer(client.auth.mfa.listFactors())))).webauthn;

/** The same person again, with the password alone. */
async function signInAgain(tab, ann) {
  await tab.evaluate(() => client.auth.signOut());
  await done(tab.evaluate((who) => answer(client.auth.signInWithPassword(who)), ann));
}

test("a key is registered and raises the level, also at the next sign-in", async () => {
  const { ann, tab, device } = await member();

  await done(register(tab));
  assert.deepEqual(await level(tab), ["aal2", "aal2"]);
  assert.equal((await device.credentials())[0].rpId, "localhost");
  const [factor] = await factorsOf(tab);
  assert.deepEqual([factor.friendly_name, factor.status], ["key", "verified"]);

  await signInAgain(tab, ann);
  assert.deepEqual(await level(tab), ["aal1", "aal2"]);
  await done(authenticate(tab, factor.id));

  assert.deepEqual(await level(tab), ["aal2", "aal2"]);
  const { claims } = await done(tab.evaluate(() => answer(client.auth.getClaims())));
  assert.deepEqual(
    claims.amr.map(({ method }) => method),
    ["mfa/webauthn", "password"],
  );
});

test("each step may be taken by itself", async () => {
  const { ann, tab } = await member();
  const confirm = (factorId) =>
    tab.evaluate(async (id) => {
      const webauthn = { rpId: location.hostname, rpOrigins: [location.origin] };
      const { data, error } = await client.auth.mfa.webauthn.challenge({ factorId: id, webauthn });
      if (error) return { error: error.message };
      return answer(
        client.auth.mfa.webauthn.verify({ ...data, webauthn: { ...webauthn, ...data.webauthn } }),
      );
    }, factorId);

  const { id } = await done(
    tab.evaluate(() => answer(client.auth.mfa.webauthn.enroll({ friendlyName: "by hand" }))),
  );
  assert.deepEqual(await level(tab), ["aal1", "aal1"]);
  await done(confirm(id));
  await signInAgain(tab, ann);
  await done(confirm(id));

  assert.deepEqual(await level(tab), ["aal2", "aal2"]);
});

test("without the key the level stays low", async () => {
  const { ann, tab, device } = await member();
  await done(register(tab));
  const [{ id }] = await factorsOf(tab);
  await signInAgain(tab, ann);
  await device.remove();
  await addAuthenticator(tab, "security key");

  const { error } = await authenticate(tab, id);

  assert.ok(error);
  assert.deepEqual(await level(tab), ["aal1", "aal2"]);
});

test("a key cannot stand in for somebody else's", async () => {
  const [ann, eve] = [await member(), await member()];
  await done(register(ann.tab));
  await done(register(eve.tab));
  const [{ id }] = await factorsOf(ann.tab);

  assert.deepEqual(await refusal(authenticate(eve.tab, id)), [404, "mfa_factor_not_found"]);
});
