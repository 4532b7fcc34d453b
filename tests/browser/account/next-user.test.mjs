// One browser, one person after another: nothing of the one before is shown to the next.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { field, heading, openAccount, says, signIn } from "../support/account.mjs";
import { intercept } from "../support/refusals.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.minimum_password_length": 8,
    "auth.password_requirements": "letters_digits",
  });
});
after(() => account?.stop());

const weakness = "Your password is weaker than we ask for today.";

/** From now on, whether a text was ever part of the page, if only for a moment. */
async function watchFor(page, text) {
  await page.evaluate((needle) => {
    globalThis.hasSeen = false;
    const check = () => (globalThis.hasSeen ||= document.body.textContent.includes(needle));
    new MutationObserver(check).observe(document.body, {
      childList: true,
      subtree: true,
      characterData: true,
    });
  }, text);
  return () => page.evaluate(() => globalThis.hasSeen);
}

/** Answers about people come late, so whatever is shown until then was kept. */
const slowly = (page) =>
  intercept(page, ["GET", /\/auth\/v1\/user(\/|$)/], async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });

/** Signs somebody in by a link that they asked for elsewhere, in another tab of the same browser. */
async function arriveBeside(page, { email }) {
  const elsewhere = await account.visit("/sign-in/code");
  await field(elsewhere, "E-mail").fill(email);
  await elsewhere.getByRole("button", { name: "Send code" }).click();
  await heading(elsewhere, "Check your mail");
  const tab = await page.context().newPage();
  await tab.goto((await account.mail(email)).link);
  await tab.getByRole("button", { name: "Sign in" }).click();
  await heading(tab, "Profile");
}

test("whoever signs in after somebody else in the same tab sees nothing of them", async () => {
  const first = await account.member("ann");
  const second = await account.member("bob", { password: "correct horse 1" });
  second.password = "correct horse 1";
  const page = await account.visit("/sign-in");
  await signIn(page, first);
  await says(page, weakness);
  await page.getByRole("link", { name: "Devices" }).click();
  await says(page, "This device");
  await page.getByRole("link", { name: "Profile" }).click();
  await says(page.getByRole("main"), first.email);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();

  await field(page, "E-mail").waitFor();
  const hasSeen = await watchFor(page, first.email);
  await slowly(page);
  await signIn(page, second);
  await heading(page, "Profile");
  await says(page.getByRole("main"), second.email);
  assert.equal(await hasSeen(), false);
  assert.equal(await page.getByText(weakness).count(), 0);
});

test("a link that another person opens in another tab replaces everything here", async () => {
  const { page, who: first } = await account.enter();
  await says(page.getByRole("main"), first.email);
  const second = await account.member("bob");
  await slowly(page);
  await arriveBeside(page, second);

  // The frame knows at once who is there; what it holds must not be about somebody else.
  await page.getByRole("banner").getByText(second.email).waitFor();
  assert.equal(await page.getByText(first.email).count(), 0);
  await says(page.getByRole("main"), second.email);
});

test("what somebody typed before goes with them", async () => {
  const { page } = await account.enter("/account/email");
  await field(page, "New e-mail").fill("secret@mail.dev");
  const second = await account.member("bob");
  await arriveBeside(page, second);
  await page.getByRole("banner").getByText(second.email).waitFor();
  assert.equal(await field(page, "New e-mail").inputValue(), "");
});

test("an address that somebody typed is not in the history for the next one", async () => {
  const who = await account.member("ann", { password: "correct horse 1" });
  const page = await account.visit("/sign-in");
  await field(page, "E-mail").fill(who.email);
  await page.getByRole("link", { name: "Forgot password?" }).click();
  await heading(page, "Forgot your password?");
  assert.equal(await field(page, "E-mail").inputValue(), who.email);
  await page.getByRole("link", { name: "Back to sign-in" }).click();
  await signIn(page, { ...who, password: "correct horse 1" });
  await heading(page, "Profile");
  await page.getByRole("button", { name: "Sign out" }).click();
  await heading(page, "You're signed out");

  const visited = [];
  for (let steps = 0; steps < 2; steps += 1) {
    await page.goBack();
    await field(page, "E-mail").waitFor();
    visited.push(new URL(page.url()).pathname);
    assert.equal(await field(page, "E-mail").inputValue(), "", page.url());
    const kept = await page.evaluate(() => JSON.stringify([history.state, { ...sessionStorage }]));
    assert.ok(!kept.includes(who.email), kept);
  }
  assert.deepEqual(visited, ["/forgot-password", "/sign-in"]);
});
