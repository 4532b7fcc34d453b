// E-mail links, opened in a browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser } from "../js-clients/support/accounts.mjs";
import { expectData } from "./support/results.mjs";
import { openSite } from "./support/site.mjs";

let site;
before(async () => {
  site = await openSite({ "auth.email.enable_confirmations": true });
});
after(() => site?.stop());

const sessionOf = async (tab) =>
  (await expectData(tab.evaluate(() => toResult(client.auth.getSession())))).session;

/** Signs up with a redirect to a page below the current one. */
async function signUp(tab) {
  const ann = newUser();
  await expectData(
    tab.evaluate((user) => {
      const options = { emailRedirectTo: `${location.href}/landed` };
      return toResult(client.auth.signUp({ ...user, options }));
    }, ann),
  );
  return ann;
}

for (const flow of ["implicit", "pkce"]) {
  test(`a confirmation is opened and the session is there (${flow})`, async () => {
    const tab = await site.visit(`/${flow}`);
    const ann = await signUp(tab);
    assert.equal(await sessionOf(tab), null);

    await tab.goto((await site.plinth.mailTo(ann.email)).link);

    const session = await sessionOf(tab);
    assert.equal(session.user.email, ann.email);
    const landed = new URL(tab.url());
    assert.equal(landed.origin + landed.pathname, `${site.url}/${flow}/landed`);
    assert.ok(!landed.href.includes("access_token") && !landed.searchParams.has("code"), landed.href);
    await tab.reload();
    assert.equal((await sessionOf(tab)).user.id, session.user.id);
  });

  test(`a recovery event makes the page ask for a new password (${flow})`, async () => {
    const tab = await site.visit(`/${flow}`);
    const ann = await signUp(tab);
    await tab.goto((await site.plinth.mailTo(ann.email)).link);
    await sessionOf(tab);
    await tab.evaluate(() => client.auth.signOut());
    await expectData(
      tab.evaluate((email) => {
        const options = { redirectTo: `${location.origin}${location.pathname}` };
        return toResult(client.auth.resetPasswordForEmail(email, options));
      }, ann.email),
    );

    await tab.goto((await site.plinth.mailTo(ann.email)).link);
    await tab.waitForFunction(() => events.includes("PASSWORD_RECOVERY"), undefined, { timeout: 10_000 });
    const password = "battery staple";
    await expectData(tab.evaluate((word) => toResult(client.auth.updateUser({ password: word })), password));

    const other = await site.visit(`/${flow}`);
    const pending = other.evaluate((user) => toResult(client.auth.signInWithPassword(user)), {
      ...ann,
      password,
    });
    assert.equal((await expectData(pending)).user.email, ann.email);
  });
}

test("a PKCE link does not sign in another browser", async () => {
  const tab = await site.visit("/pkce");
  const ann = await signUp(tab);
  const thief = await site.visit("/pkce");

  await thief.goto((await site.plinth.mailTo(ann.email)).link);

  assert.equal(await sessionOf(thief), null);
});

test("a link that was used before says so to the page", async () => {
  const tab = await site.visit("/implicit");
  const ann = await signUp(tab);
  const { link } = await site.plinth.mailTo(ann.email);
  await tab.goto(link);

  const other = await site.visit("/implicit");
  await other.goto(link);

  assert.equal(await sessionOf(other), null);
  const said = new URLSearchParams(new URL(other.url()).hash.slice(1));
  assert.equal(said.get("error_code"), "otp_expired");
});

test("a link does not redirect to another site", async () => {
  const tab = await site.visit("/implicit");
  const ann = newUser();
  await expectData(
    tab.evaluate((user) => {
      const options = { emailRedirectTo: "https://evil.example/landed" };
      return toResult(client.auth.signUp({ ...user, options }));
    }, ann),
  );

  await tab.goto((await site.plinth.mailTo(ann.email)).link);

  assert.equal(new URL(tab.url()).origin, site.url);
});
