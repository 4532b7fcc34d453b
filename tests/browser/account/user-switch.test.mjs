// Several users in one browser, one after the other: no data of a user is shown to the next one.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { field, heading, openAccount, signIn, waitForText } from "../support/account.mjs";
import { intercept } from "../support/error-responses.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.minimum_password_length": 8,
    "auth.password_requirements": "letters_digits",
  });
});
after(() => account?.stop());

const weakness = "Your password is weaker than we ask for today.";

/** Records from now on whether a text ever appeared in the page. */
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

/** Delays user responses, so that anything shown earlier comes from a cache. */
const delayUserResponses = (page) =>
  intercept(page, ["GET", /\/auth\/v1\/user(\/|$)/], async (route) => {
    // Long enough for the page to show what it has before the response.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });

/** Signs another user in by an e-mail link, in another tab of the same browser. */
async function signInInOtherTab(page, { email }) {
  const elsewhere = await account.visit("/sign-in/code");
  await field(elsewhere, "E-mail").fill(email);
  await elsewhere.getByRole("button", { name: "Send code" }).click();
  await heading(elsewhere, "Check your mail");
  const tab = await page.context().newPage();
  await tab.goto((await account.mail(email)).link);
  await tab.getByRole("button", { name: "Sign in" }).click();
  await heading(tab, "Profile");
}

test("the next user in the same tab sees no data of the previous one", async () => {
  const first = await account.createUser("ann");
  const second = await account.createUser("bob", { password: "correct horse 1" });
  second.password = "correct horse 1";
  const page = await account.visit("/sign-in");
  await signIn(page, first);
  await waitForText(page, weakness);
  await page.getByRole("link", { name: "Devices" }).click();
  await waitForText(page, "This device");
  await page.getByRole("link", { name: "Profile" }).click();
  await waitForText(page.getByRole("main"), first.email);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();

  await field(page, "E-mail").waitFor();
  const hasSeen = await watchFor(page, first.email);
  await delayUserResponses(page);
  await signIn(page, second);
  await heading(page, "Profile");
  await waitForText(page.getByRole("main"), second.email);
  assert.equal(await hasSeen(), false);
  assert.equal(await page.getByText(weakness).count(), 0);
});

test("a link that another person opens in another tab replaces everything here", async () => {
  const { page, user: first } = await account.openSignedIn();
  await waitForText(page.getByRole("main"), first.email);
  const second = await account.createUser("bob");
  await delayUserResponses(page);
  await signInInOtherTab(page, second);

  // The layout shows the new user at once; its content must not be the previous user's.
  await page.getByRole("banner").getByText(second.email).waitFor();
  assert.equal(await page.getByText(first.email).count(), 0);
  await waitForText(page.getByRole("main"), second.email);
});

test("typed values are dropped when the user changes", async () => {
  const { page } = await account.openSignedIn("/account/email");
  await field(page, "New e-mail").fill("secret@mail.dev");
  const second = await account.createUser("bob");
  await signInInOtherTab(page, second);
  await page.getByRole("banner").getByText(second.email).waitFor();
  assert.equal(await field(page, "New e-mail").inputValue(), "");
});

test("a typed address is not in the history for the next user", async () => {
  const user = await account.createUser("ann", { password: "correct horse 1" });
  const page = await account.visit("/sign-in");
  await field(page, "E-mail").fill(user.email);
  await page.getByRole("link", { name: "Forgot password?" }).click();
  await heading(page, "Forgot your password?");
  assert.equal(await field(page, "E-mail").inputValue(), user.email);
  await page.getByRole("link", { name: "Back to sign-in" }).click();
  await signIn(page, { ...user, password: "correct horse 1" });
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
    assert.ok(!kept.includes(user.email), kept);
  }
  assert.deepEqual(visited, ["/forgot-password", "/sign-in"]);
});
