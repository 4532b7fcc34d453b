// A project with sign-up disabled, and with its pages below a custom path.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { auditScreen, heading, openAccount } from "../support/account.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.enable_signup": false,
    "plinth.account.self_delete": "off",
    "plinth.account.path": "/login",
  });
});
after(() => account?.stop());

test("sign-ups are closed, and no page links there", async () => {
  const page = await account.visit("/login/sign-up");
  await heading(page, "Sign-ups are closed.");
  await auditScreen(page, "sign-up-closed");

  await page.getByRole("link", { name: "Sign in" }).click();
  await heading(page, "Sign in");
  assert.equal(await page.getByRole("link", { name: "Create an account" }).count(), 0);
});

test("who may not delete themselves is not asked to", async () => {
  const { page } = await account.openSignedIn("/login/account/delete");
  await heading(page, "There is no such page");
  await page.goto(`${account.url}/login/account`);
  await heading(page, "Profile");
  assert.equal(await page.getByRole("link", { name: "Delete account" }).count(), 0);
});

test("the pages are below their path, and nowhere beside it", async () => {
  const get = (path) => fetch(account.url + path, { redirect: "manual" });
  for (const path of ["/login", "/login/"]) {
    const root = await get(path);
    assert.equal(root.status, 303, path);
    assert.equal(root.headers.get("location"), "/login/account", path);
  }
  assert.equal((await get("/login/sign-in")).status, 200);
  for (const path of ["/loginsign-in", "/loginconfirm", "/loginaccount", "/login_account/x.js", "/sign-in"]) {
    assert.equal((await get(path)).status, 404, path);
  }
});
