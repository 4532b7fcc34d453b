// Links of mails, opened where people open them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { somebody } from "../js-clients/support/accounts.mjs";
import { done } from "./support/answers.mjs";
import { openSite } from "./support/site.mjs";

let site;
before(async () => {
  site = await openSite({ "auth.email.enable_confirmations": true });
});
after(() => site?.stop());

const sessionOf = async (tab) => (await done(tab.evaluate(() => answer(client.auth.getSession())))).session;

/** Signs up on a page and asks to come back to another below it. */
async function signUp(tab) {
  const ann = somebody();
  await done(
    tab.evaluate((who) => {
      const options = { emailRedirectTo: `${location.href}/landed` };
      return answer(client.auth.signUp({ ...who, options }));
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

  test(`a recovery tells the page to ask for a new password (${flow})`, async () => {
    const tab = await site.visit(`/${flow}`);
    const ann = await signUp(tab);
    await tab.goto((await site.plinth.mailTo(ann.email)).link);
    await sessionOf(tab);
    await tab.evaluate(() => client.auth.signOut());
    await done(
      tab.evaluate((email) => {
        const options = { redirectTo: `${location.origin}${location.pathname}` };
        return answer(client.auth.resetPasswordForEmail(email, options));
      }, ann.email),
    );

    await tab.goto((await site.plinth.mailTo(ann.email)).link);
    await tab.waitForFunction(() => events.includes("PASSWORD_RECOVERY"), undefined, { timeout: 10_000 });
    const password = "battery staple";
    await done(tab.evaluate((word) => answer(client.auth.updateUser({ password: word })), password));

    const other = await site.visit(`/${flow}`);
    const answered = other.evaluate((who) => answer(client.auth.signInWithPassword(who)), {
      ...ann,
      password,
    });
    assert.equal((await done(answered)).user.email, ann.email);
  });
}

test("a PKCE link that another browser opens signs nobody in there", async () => {
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

test("a page elsewhere is not where a link leads", async () => {
  const tab = await site.visit("/implicit");
  const ann = somebody();
  await done(
    tab.evaluate((who) => {
      const options = { emailRedirectTo: "https://evil.example/landed" };
      return answer(client.auth.signUp({ ...who, options }));
    }, ann),
  );

  await tab.goto((await site.plinth.mailTo(ann.email)).link);

  assert.equal(new URL(tab.url()).origin, site.url);
});
