// One's own details, address and password (client contract 5.9, 5.10), devices and the end (5.13, 5.14).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { somebody } from "../../js-clients/support/accounts.mjs";
import { alerts, field, heading, look, openAccount, says, signIn } from "../support/account.mjs";

let account;
before(async () => {
  account = await openAccount({ "auth.email.require_current_password": true });
});
after(() => account?.stop());

test("a name is saved, and what is not saved is not lost unasked", async () => {
  const { who, page } = await account.enter();
  await says(page, "No name yet");
  await look(page, "profile");
  await field(page, "Name").fill("Ann Lee");
  await says(page, "You have unsaved changes.");
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("link", { name: "Devices" }).click();
  await heading(page, "Profile");
  await page.getByRole("button", { name: "Save changes" }).click();

  await says(page, "Saved.");
  const user = await account.admin("GET", `/users/${who.id}`);
  assert.equal(user.user_metadata.full_name, "Ann Lee");
  await page.reload();
  await page.getByText("Ann Lee", { exact: true }).waitFor();
  assert.ok(await page.locator("time").first().getAttribute("datetime"));
});

test("a change that the server never saw is taken back", async () => {
  const { page } = await account.enter();
  await field(page, "Name").fill("Ann Lee");
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Save changes" }).click();
  await alerts(page, "We can't reach the server.");
  await says(page, "No name yet");
  assert.equal(await field(page, "Name").inputValue(), "Ann Lee");
});

test("a new address counts once both have confirmed it", async () => {
  const { who, page } = await account.enter("/account/email");
  const { email } = somebody("new");
  await heading(page, "Change your e-mail");
  await field(page, "New e-mail").fill(email);
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await page.getByRole("heading", { name: "Confirm from both addresses" }).waitFor();
  await look(page, "email-pending");
  await page.goto((await account.mail(who.email)).link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();
  await heading(page, "One more step");
  await look(page, "confirm-half-done");
  await page.goto((await account.mail(email)).link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();

  await heading(page, "Profile");
  await says(page, email);
});

test("an address that is taken or malformed is refused", async () => {
  const taken = await account.member("taken");
  const { page } = await account.enter("/account/email");
  await field(page, "New e-mail").fill("nonsense");
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await alerts(page, "Enter a valid e-mail address.");
  await field(page, "New e-mail").fill(taken.email);
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await alerts(page, "That address can't be used.");
});

test("a new password needs the present one", async () => {
  const { who, page } = await account.enter("/account/password");
  await heading(page, "Change your password");
  await look(page, "password");
  await field(page, "Current password").fill("wrong");
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  await alerts(page, "Your current password is wrong.");
  await field(page, "Current password").fill(who.password);
  await field(page, "New password").fill(who.password);
  await page.getByRole("button", { name: "Save password" }).click();
  await alerts(page, "Choose a password you haven't used here.");
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  await says(page, "Password changed. Your other devices were signed out.");

  const other = await account.visit("/sign-in");
  await signIn(other, { ...who, password: "battery staple" });
  await heading(other, "Profile");
});

test("devices are listed and signed out, one or all", async () => {
  const { who, page } = await account.enter("/account/sessions");
  await says(page, "You're only signed in here.");
  await look(page, "sessions-one");
  const other = await account.visit("/sign-in", {
    userAgent:
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1",
  });
  await signIn(other, who);
  await heading(other, "Profile");
  await page.reload();
  const devices = page.getByRole("list", { name: "Devices" }).getByRole("listitem");
  await devices.nth(1).waitFor();
  assert.match(await devices.first().innerText(), /Chrome on Linux[\s\S]*This device/);
  assert.match(await devices.nth(1).innerText(), /Safari on iPhone/);
  await look(page, "sessions");
  await page.getByRole("button", { name: "Sign out Safari on iPhone" }).click();
  await says(page, "You're only signed in here.");
  await other.goto(`${account.url}/account/sessions`);
  await heading(other, "Sign in");

  await signIn(other, who);
  await page.reload();
  await page.getByRole("button", { name: "Sign out other devices" }).click();
  await says(page, "You're only signed in here.");
  await page.getByRole("button", { name: "Sign out Chrome on Linux" }).click();
  await heading(page, "Sign in");
  await says(page, "This device was signed out.");
});

test("a list that cannot be had says so, and can be asked for again", async () => {
  const { page } = await account.enter();
  await page.route("**/user/sessions", (route) => route.fulfill({ status: 503, body: "{}" }));
  await page.getByRole("link", { name: "Devices" }).click();
  await alerts(page, "The server took too long or had a problem. Please try again.");
  await look(page, "sessions-error");
  await page.unroute("**/user/sessions");
  await page.getByRole("button", { name: "Try again" }).click();
  await says(page, "You're only signed in here.");
});

test("signing out everywhere ends this session, too", async () => {
  const { who, page } = await account.enter();
  const other = await account.visit("/sign-in");
  await signIn(other, who);
  await heading(other, "Profile");
  await page.getByRole("link", { name: "Devices" }).click();
  await page.getByRole("button", { name: "Sign out everywhere" }).click();
  await heading(page, "You're signed out");
});

test("an account is deleted by whoever types its name", async () => {
  const { who, page } = await account.enter("/account/delete");
  await heading(page, "Delete your account");
  await look(page, "delete");
  await field(page, /to confirm/).fill("something else");
  await page.getByRole("button", { name: "Delete my account" }).click();
  await alerts(page, `Type ${who.email} to confirm.`);
  await field(page, /to confirm/).fill(who.email);
  await page.getByRole("button", { name: "Delete my account" }).click();

  await heading(page, "Your account is deleted");
  await look(page, "goodbye");
  const again = await account.visit("/sign-in");
  await signIn(again, who);
  await alerts(again, "E-mail or password is wrong.");
});
