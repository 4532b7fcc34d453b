// Projects that let nobody sign up, and those that confirm by themselves.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { heading, look, openAccount } from "../support/account.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.enable_signup": false,
    "plinth.account.self_delete": "off",
  });
});
after(() => account?.stop());

test("sign-ups are closed, and nobody is sent there", async () => {
  const page = await account.visit("/sign-up");
  await heading(page, "Sign-ups are closed.");
  await look(page, "sign-up-closed");

  await page.getByRole("link", { name: "Sign in" }).click();
  await heading(page, "Sign in");
  assert.equal(await page.getByRole("link", { name: "Create an account" }).count(), 0);
});

test("who may not delete themselves is not asked to", async () => {
  const { page } = await account.enter("/account/delete");
  await heading(page, "There is no such page");
  await page.goto(`${account.url}/account`);
  await heading(page, "Profile");
  assert.equal(await page.getByRole("link", { name: "Delete account" }).count(), 0);
});
