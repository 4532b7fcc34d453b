// The example's page in a real browser: server and page share one session.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser, startAccounts } from "../js-clients/support/accounts.mjs";
import { startApp } from "./support/app.mjs";
import { openChromium } from "./support/chromium.mjs";

let plinth;
let app;
let browser;
before(async () => {
  plinth = await startAccounts();
  app = await startApp(plinth);
  browser = await openChromium();
});
after(async () => {
  await browser?.close();
  await app?.stop();
  await plinth?.stop();
});

async function signUp() {
  const user = newUser();
  const response = await fetch(`${plinth.apiUrl}/auth/v1/signup`, {
    method: "POST",
    headers: { apikey: plinth.keys.publishable, "content-type": "application/json" },
    body: JSON.stringify(user),
  });
  assert.equal(response.status, 200);
  return user;
}

/** The state that the page shows after its script ran. */
async function shownState(page) {
  await page.getByText(/^The browser (knows|does not know) you/).waitFor();
  const text = (id) => page.locator(id).textContent();
  return [await text("#server"), await text("#browser")];
}

const signedOut = ["The server does not know you.", "The browser does not know you."];

test("signed in by a form, signed out by the page's script", async () => {
  const { email, password } = await signUp();
  const page = await browser.visit(app.url);
  assert.deepEqual(await shownState(page), signedOut);

  await page.getByRole("link", { name: "Sign in" }).click();
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL("**/private");
  await page.getByRole("link", { name: "Home" }).click();
  assert.deepEqual(await shownState(page), [email, `The browser knows you as ${email}.`]);

  await page.getByRole("button", { name: "Sign out in the browser" }).click();
  await page.getByText(signedOut[0]).waitFor();
  assert.deepEqual(await shownState(page), signedOut);
  assert.deepEqual(await page.context().cookies(), []);
});

test("signed in by the page's script, signed out by a form", async () => {
  const user = await signUp();
  const page = await browser.visit(app.url);
  await shownState(page);

  const error = await page.evaluate(
    async ({ user, url, key }) => {
      const { createBrowserClient } = await import("https://esm.sh/@supabase/ssr@0.12.7");
      const reply = await createBrowserClient(url, key).auth.signInWithPassword(user);
      return reply.error?.message ?? null;
    },
    { user, url: plinth.apiUrl, key: plinth.keys.publishable },
  );
  assert.equal(error, null);
  await page.goto(`${app.url}/private`);
  await page.getByText("can see this").waitFor();

  await page.goto(app.url);
  await page.getByRole("button", { name: "Sign out on the server" }).click();
  await page.getByText(signedOut[0]).waitFor();
  assert.deepEqual(await shownState(page), signedOut);
  assert.deepEqual(await page.context().cookies(), []);
});
