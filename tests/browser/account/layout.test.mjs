// What people see before and around the content: skeleton, navigation, icon, marks, one error per field.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { eventually, field, hasFocus, heading, openAccount, waitForText } from "../support/account.mjs";

const providers = ["apple", "azure", "github", "google"];

let account;
before(async () => {
  const enabled = providers.flatMap((name) => [
    [`auth.external.${name}.enabled`, true],
    [`auth.external.${name}.client_id`, "id"],
    [`auth.external.${name}.secret`, "secret"],
  ]);
  account = await openAccount({
    "plinth.account.title": "Harbour",
    "plinth.account.accent": "#5b3fa6",
    "auth.passkey.enabled": true,
    "auth.email.enable_confirmations": false,
    ...Object.fromEntries(enabled),
  });
});
after(() => account?.stop());

const box = (locator) => locator.boundingBox();

/** Holds requests until the returned function is called. */
async function hold(page, pattern) {
  let release;
  const released = new Promise((resolve) => {
    release = resolve;
  });
  await page.route(pattern, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

for (const width of [1280, 390])
  test(`${width} px: nothing moves while the account loads`, async () => {
    const { page } = await account.openSignedIn();
    await page.setViewportSize({ width, height: 800 });
    const isReady = () => page.getByText("Member since").waitFor();
    await isReady();
    const parts = {
      header: page.getByRole("banner"),
      navigation: page.getByRole("navigation"),
      content: page.getByRole("main"),
      card: page.locator("main section").first(),
    };
    const measure = async () => {
      const places = {};
      for (const [name, part] of Object.entries(parts)) {
        const { x, y, width: w } = await box(part);
        places[name] = [x, y, w].map(Math.round);
      }
      return places;
    };
    const loaded = await measure();

    const releaseCode = await hold(page, /\/signed-in-app-[^/]+\.js$/);
    const releaseUser = await hold(page, /\/auth\/v1\/user$/);
    await page.reload({ waitUntil: "commit" });
    await page.getByRole("status", { name: "Loading" }).waitFor();
    assert.deepEqual(await measure(), loaded, "while the code loads");
    releaseCode();
    await page.getByRole("status", { name: "Loading your profile" }).waitFor();
    await heading(page, "Profile");
    assert.deepEqual(await measure(), loaded, "while the user loads");
    releaseUser();
    await isReady();
    assert.deepEqual(await measure(), loaded);
  });

test("on a phone, the navigation shows that it goes on", async () => {
  const { page } = await account.openSignedIn();
  await page.setViewportSize({ width: 390, height: 800 });
  const more = (side) => page.locator(`[data-more=${side}]`);
  await more("end").waitFor();
  assert.equal(await more("start").count(), 0);
  const row = page.getByRole("navigation");
  await row.evaluate((element) => element.scrollTo({ left: element.scrollWidth }));
  await more("start").waitFor();
  await more("end").waitFor({ state: "detached" });
  // Where all of it fits, nothing is announced.
  await page.setViewportSize({ width: 1280, height: 800 });
  await more("start").waitFor({ state: "detached" });
});

test("the icon is the service's initial in its colour", async () => {
  const page = await account.visit("/sign-in");
  await heading(page, "Sign in");
  const icon = await page.locator("link[rel=icon]").getAttribute("href");
  assert.match(decodeURIComponent(icon), /^data:image\/svg\+xml,<svg .*fill='#5b3fa6'.*>H<\/text>/);
  // It can be drawn under the Content-Security-Policy.
  const isDrawn = await page.evaluate(async (url) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    return image.complete;
  }, icon);
  assert.ok(isDrawn);
});

test("known providers have distinct marks", async () => {
  const page = await account.visit("/sign-in");
  const marks = new Set();
  for (const name of ["Apple", "Microsoft", "GitHub", "Google"]) {
    const mark = page.getByRole("button", { name: `Continue with ${name}` }).locator("svg");
    marks.add(await mark.innerHTML());
  }
  assert.equal(marks.size, 4);
});

test("an error of a field is shown once, beside the field, which has the focus", async () => {
  const page = await account.visit("/forgot-password");
  await page.getByRole("button", { name: "Send reset link" }).click();
  await waitForText(page, "Enter your e-mail address.");
  assert.equal(await page.getByText("Enter your e-mail address.").count(), 1);
  const email = field(page, "E-mail");
  assert.ok(await hasFocus(email));
  assert.equal(await email.getAttribute("aria-invalid"), "true");
  assert.ok(await eventually(async () => (await page.title()).startsWith("Error: ")));
});

test("several fields are named above the form, and each error is shown once", async () => {
  const page = await account.visit("/sign-in");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  const summary = page.getByRole("alert").filter({ hasText: "Check these 2 fields:" });
  await summary.waitFor();
  assert.ok(await hasFocus(summary));
  for (const text of ["Enter your e-mail address.", "Enter your password."])
    assert.equal(await page.getByText(text).count(), 1, text);
  await summary.getByRole("link", { name: "Password" }).click();
  assert.ok(await hasFocus(field(page, "Password")));
});

test("passkeys are offered at a host name, not at an IP address", async () => {
  const page = await account.visit("/sign-in");
  await page.getByRole("button", { name: "Use a passkey" }).waitFor();
  await page.goto(`${account.plinth.apiUrl}/sign-in`);
  assert.match(page.url(), /^http:\/\/127\.0\.0\.1:/);
  await heading(page, "Sign in");
  await field(page, "E-mail").waitFor();
  assert.equal(await page.getByRole("button", { name: "Use a passkey" }).count(), 0);
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.match(account.plinth.log(), /API URL {2}http:\/\/localhost:\d+/);
});

test("an unverified address is not called verified", async () => {
  // The project confirms addresses by itself.
  const page = await account.visit("/sign-up");
  const email = `auto-${Date.now()}@mail.dev`;
  await field(page, "E-mail").fill(email);
  await field(page, "Password").fill("correct horse");
  await page.getByRole("button", { name: "Create account" }).click();
  await heading(page, "Profile");
  await waitForText(page, "Member since");
  assert.equal(await page.getByText("Verified").count(), 0);
  assert.equal(await page.getByText("Not verified").count(), 0);
});

test("a default mail carries the service's name and colour", async () => {
  const user = await account.createUser();
  await account.authRequest("/recover", { email: user.email });
  const { html, text } = await account.plinth.mailTo(user.email);
  assert.match(html, />Harbour<\/p>/);
  assert.match(html, /background:#5b3fa6/);
  assert.match(text, /Harbour/);
});
