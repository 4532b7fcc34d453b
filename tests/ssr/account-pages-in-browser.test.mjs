// One host, one session: a session of the account pages is valid for a Rust server and vice versa, in a real
// browser and without further requests (client contract U25).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser, startAccounts } from "../js-clients/support/accounts.mjs";
import { startApp } from "./support/app.mjs";
import { openChromium } from "./support/chromium.mjs";

const webDir = process.env.PLINTH_TEST_WEB_DIR;

let plinth;
/** The account pages are on the application's host; cookies do not depend on the port. */
let pages;
let app;
let browser;
before(async () => {
  plinth = await startAccounts(webDir ? { "plinth.web_dir": webDir } : {});
  pages = plinth.apiUrl.replace("127.0.0.1", "localhost");
  app = await startApp({ ...plinth, apiUrl: pages });
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
  return { ...user, id: (await response.json()).user.id };
}

/** Fills in the sign-in form; both applications use the same labels. */
async function signIn(page, { email, password }) {
  await page.locator("input").and(page.getByLabel("E-mail")).fill(email);
  await page.locator("input").and(page.getByLabel("Password")).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

const heading = (page, name) => page.getByRole("heading", { level: 1, name }).waitFor();

/** Records the requests of a page to the auth service. */
function watch(page) {
  const asked = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/\/auth\/v1\/(token|verify|signup)/.test(pathname)) asked.push(pathname);
  });
  return asked;
}

test("signed in on the account pages, known to the Rust server", async () => {
  const user = await signUp();
  const page = await browser.visit(`${pages}/sign-in`);
  await signIn(page, user);
  await heading(page, "Profile");

  const asked = watch(page);
  const response = await page.goto(`${app.url}/private`);
  assert.equal(response.status(), 200);
  assert.equal(await page.locator("#user").innerText(), user.id);
  assert.deepEqual(asked, []);

  await page.goto(app.url);
  await page.getByRole("button", { name: "Sign out on the server" }).click();
  await page.getByText("The server does not know you.").waitFor();
  await page.goto(`${pages}/account`);
  await heading(page, "Sign in");
});

test("signed in on the Rust server, known to the account pages", async () => {
  const user = await signUp();
  const page = await browser.visit(`${app.url}/sign-in`);
  await signIn(page, user);
  await page.waitForURL("**/private");

  const asked = watch(page);
  const response = await page.goto(`${pages}/account`);
  assert.equal(response.status(), 200);
  assert.ok(!response.request().redirectedFrom());
  await heading(page, "Profile");
  await page.getByText(user.email).first().waitFor();
  assert.deepEqual(asked, []);

  await page.getByRole("button", { name: "Sign out" }).click();
  await heading(page, "You're signed out");
  await page.goto(app.url);
  await page.getByText("The server does not know you.").waitFor();
});

test("what changes on one side is known on the other", async () => {
  const user = await signUp();
  const page = await browser.visit(`${pages}/sign-in?next=%2Faccount%2Fpassword`);
  await signIn(page, user);
  await heading(page, "Change your password");
  await page.locator("input").and(page.getByLabel("New password")).fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  await page.getByText("Password changed.").waitFor();

  await page.goto(`${app.url}/private`);
  assert.equal(await page.locator("#user").innerText(), user.id);
});
