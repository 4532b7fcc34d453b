// Sessions that are too old for what is asked: a code by mail comes first (client contract U7, 5.10).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "../../js-clients/support/postgres.mjs";
import { alerts, field, hasFocus, heading, look, openAccount, says } from "../support/account.mjs";

let account;
let sql;
before(async () => {
  account = await openAccount({ "auth.email.secure_password_change": true });
  sql = postgres(account.plinth.dbUrl);
});
after(async () => {
  await sql?.end();
  await account?.stop();
});

const age = ({ id }) =>
  sql`update auth.sessions set created_at = now() - interval '2 days' where user_id = ${id}`;

test("an old session confirms a new password with a code", async () => {
  const { who, page } = await account.enter("/account/password");
  await age(who);
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await dialog.waitFor();
  await says(page, "We sent a code to");
  assert.ok(await hasFocus(field(dialog, "Code")));
  await look(page, "reauthenticate");
  await field(dialog, "Code").fill("000000");
  await says(page, "That code is wrong or expired.");
  await field(dialog, "Code").fill((await account.mail(who.email)).otp);

  await says(page, "Password changed. Your other devices were signed out.");
});

test("whoever closes the dialog has changed nothing", async () => {
  const { who, page } = await account.enter("/account/password");
  await age(who);
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await alerts(page, "Nothing was changed.");
});

test("an old session confirms the end of an account with a code", async () => {
  const { who, page } = await account.enter("/account/delete");
  await age(who);
  await field(page, /to confirm/).fill(who.email);
  await page.getByRole("button", { name: "Delete my account" }).click();
  await page.getByRole("dialog").waitFor();
  await says(page, "We sent a code to");
  await field(page.getByRole("dialog"), "Code").fill((await account.mail(who.email)).otp);
  await heading(page, "Your account is deleted");
});
