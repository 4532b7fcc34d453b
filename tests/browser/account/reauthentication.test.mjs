// Sessions that are too old for a change: a code by mail is required first (client contract U7, 5.10).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "../../js-clients/support/postgres.mjs";
import {
  auditScreen,
  field,
  hasFocus,
  heading,
  openAccount,
  waitForAlert,
  waitForText,
} from "../support/account.mjs";

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

const ageSession = ({ id }) =>
  sql`update auth.sessions set created_at = now() - interval '2 days' where user_id = ${id}`;

test("an old session confirms a new password with a code", async () => {
  const { user, page } = await account.openSignedIn("/account/password");
  await ageSession(user);
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await dialog.waitFor();
  await waitForText(page, "We sent a code to");
  assert.ok(await hasFocus(field(dialog, "Code")));
  await auditScreen(page, "reauthenticate");
  await field(dialog, "Code").fill("000000");
  await waitForText(page, "That code is wrong or expired.");
  await field(dialog, "Code").fill((await account.mail(user.email)).otp);

  await waitForText(page, "Password changed. Your other devices were signed out.");
});

test("closing the dialog changes nothing", async () => {
  const { user, page } = await account.openSignedIn("/account/password");
  await ageSession(user);
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await waitForAlert(page, "Nothing was changed.");
});

test("an old session confirms the end of an account with a code", async () => {
  const { user, page } = await account.openSignedIn("/account/delete");
  await ageSession(user);
  await field(page, /to confirm/).fill(user.email);
  await page.getByRole("button", { name: "Delete my account" }).click();
  await page.getByRole("dialog").waitFor();
  await waitForText(page, "We sent a code to");
  await field(page.getByRole("dialog"), "Code").fill((await account.mail(user.email)).otp);
  await heading(page, "Your account is deleted");
});
