// The second step: set up, asked for, asked for again, removed (client contract 5.7, 5.11).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { alerts, field, hasFocus, heading, look, openAccount, says, signIn } from "../support/account.mjs";
import { inToast, refuse } from "../support/refusals.mjs";
import { codeOf, enterWithApp, memberWithApp } from "../support/two-step.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.mfa.totp.enroll_enabled": true,
    "auth.mfa.totp.verify_enabled": true,
  });
});
after(() => account?.stop());

/** Sets up an app; its secret. */
async function enrol(page, name = "Phone") {
  await page.goto(`${account.url}/account/security/totp/new`);
  await field(page, "Name").fill(name);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByAltText("QR code for your authenticator app").waitFor();
  const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
  await field(page, "Code from your authenticator app").fill(codeOf(secret));
  await heading(page, "Two-step verification is on");
  return secret;
}

test("an app is set up and asked for at the next sign-in", async () => {
  const { who, page } = await account.enter("/account/security");
  await says(page, "You have no second step yet.");
  await look(page, "security-empty");
  await page.getByRole("link", { name: "Set up an authenticator app" }).click();
  await heading(page, "Set up an authenticator app");
  await look(page, "totp-name");
  await field(page, "Name").fill("Pocket");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByAltText("QR code for your authenticator app").waitFor();
  const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
  await look(page, "totp-scan");
  await field(page, "Code from your authenticator app").fill("000000");
  await alerts(page, "That code isn't right. Codes change every 30 seconds.");
  await field(page, "Code from your authenticator app").fill(codeOf(secret));
  await heading(page, "Two-step verification is on");
  await look(page, "totp-done");
  await page.getByRole("link", { name: /See your second steps/ }).click();
  await says(page, "You have one second step.");
  await look(page, "security");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await signIn(page, who);
  await heading(page, "One more step");
  assert.equal(await page.getByText(who.email).count(), 0);
  await look(page, "mfa");
  await page.goto(`${account.url}/account/sessions`);
  await heading(page, "One more step");
  await field(page, "Code from your authenticator app").fill("000000");
  await alerts(page, "That code isn't right.");
  await look(page, "mfa-wrong");
  await field(page, "Code from your authenticator app").fill(codeOf(secret));
  await heading(page, "Devices");
});

test("whoever cannot take the step can still leave", async () => {
  const { who, page } = await account.enter();
  await enrol(page);
  const other = await account.visit("/sign-in");
  await signIn(other, who);
  await heading(other, "One more step");
  await other.getByRole("button", { name: "Sign out" }).click();
  await heading(other, "You're signed out");
});

test("two apps cannot have one name, and a set-up can be given up", async () => {
  const { page } = await account.enter();
  await enrol(page, "Phone");
  await page.goto(`${account.url}/account/security/totp/new`);
  await field(page, "Name").fill("Phone");
  await page.getByRole("button", { name: "Continue" }).click();
  await alerts(page, "You already have a method with this name.");
  await field(page, "Name").fill("Tablet");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByAltText("QR code for your authenticator app").waitFor();
  await page.goto(`${account.url}/account/security`);
  await heading(page, "Two-step verification");
  await page.getByRole("list", { name: "Unfinished set-up" }).getByText("Tablet").waitFor();
  await look(page, "security-unfinished");
  await page.getByRole("button", { name: "Remove Tablet" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await says(page, "Tablet is removed.");
});

test("removing the last one warns, and the password is enough again", async () => {
  const { who, page } = await account.enter();
  await enrol(page, "Phone");
  await page.goto(`${account.url}/account/security`);
  await page.getByRole("button", { name: "Remove Phone" }).click();
  await says(page, "It is your last one");
  assert.ok(await hasFocus(page.getByRole("dialog").getByRole("button", { name: "Cancel" })));
  await look(page, "factor-remove");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(await hasFocus(page.getByRole("button", { name: "Remove Phone" })));
  await page.getByRole("button", { name: "Remove Phone" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await says(page, "You have no second step yet.");

  const other = await account.visit("/sign-in");
  await signIn(other, who);
  await heading(other, "Profile");
});

test("a reset asks for the second step before the new password", async () => {
  const { who, page } = await account.enter();
  const secret = await enrol(page);
  const other = await account.visit("/forgot-password");
  await field(other, "E-mail").fill(who.email);
  await other.getByRole("button", { name: "Send reset link" }).click();
  await heading(other, "Check your mail");
  await field(other, "Code from the mail").fill((await account.mail(who.email)).otp);
  await heading(other, "One more step");
  await other.getByRole("button", { name: "Keep current password" }).waitFor();
  await other.getByRole("button", { name: "Sign out" }).waitFor();
  await look(other, "reset-second-step");
  await field(other, "Code from your authenticator app").fill(codeOf(secret));
  await heading(other, "Choose a password");
  await field(other, "New password").fill("battery staple");
  await other.getByRole("button", { name: "Save password" }).click();
  await heading(other, "Profile");
});

test("whoever cannot take the step of a reset can leave it", async () => {
  const who = await memberWithApp(account);
  const ways = { "Sign out": "You're signed out", "Keep current password": "One more step" };
  for (const [way, title] of Object.entries(ways)) {
    const page = await account.visit("/forgot-password");
    await field(page, "E-mail").fill(who.email);
    await page.getByRole("button", { name: "Send reset link" }).click();
    await heading(page, "Check your mail");
    await field(page, "Code from the mail").fill((await account.mail(who.email)).otp);
    await heading(page, "One more step");
    await page.getByRole("button", { name: way }).click();
    await heading(page, title);
    assert.doesNotMatch(page.url(), /reset-password/);
    await page.goto(`${account.url}/account`);
    await heading(page, way === "Sign out" ? "Sign in" : "One more step");
  }
});

test("a call that asks for the second step gets it, and is repeated", async () => {
  const { page } = await account.enter();
  const secret = await enrol(page);
  let refusals = 0;
  await page.route("**/user/sessions", (route) => {
    refusals += 1;
    if (refusals > 1) return route.continue();
    const headers = { "x-supabase-api-version": "2024-01-01" };
    return route.fulfill({ status: 403, headers, json: { code: "insufficient_aal", message: "no" } });
  });
  await page.getByRole("link", { name: "Devices" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await dialog.waitFor();
  await look(page, "step-up");
  await field(dialog, "Code from your authenticator app").fill(codeOf(secret));

  await page.getByRole("list", { name: "Devices" }).waitFor();
  assert.equal(refusals, 2);
});

test("a set-up can be cancelled, and what is unfinished can be finished", async () => {
  const { page } = await account.enter("/account/security/totp/new");
  await field(page, "Name").fill("Tablet");
  await page.getByRole("button", { name: "Continue" }).click();
  const picture = page.getByAltText("QR code for your authenticator app");
  await picture.waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  const ground = await picture.evaluate((image) => getComputedStyle(image).backgroundColor);
  assert.equal(ground, "rgb(255, 255, 255)");
  const open = page.getByRole("link", { name: "Open in authenticator" });
  assert.match(await open.getAttribute("href"), /^otpauth:\/\/totp\//);
  assert.match(await page.locator("code").innerText(), /^(\S{4} )+\S{1,4}$/);
  await page.getByRole("button", { name: "Cancel" }).click();
  await says(page, "You have no second step yet.");
  assert.equal(await page.getByText("Tablet").count(), 0);

  await page.getByRole("link", { name: "Set up an authenticator app" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await picture.waitFor();
  const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
  await page.getByRole("link", { name: "Two-step verification" }).click();
  await page.getByRole("button", { name: "Finish setting up Authenticator app" }).click();
  const dialog = page.getByRole("dialog", { name: "Finish setting up" });
  await look(page, "totp-finish");
  await field(dialog, "Code from your authenticator app").fill(codeOf(secret));
  await says(page, "You have one second step.");
});

test("an app that somebody removed elsewhere is gone here, too", async () => {
  const { page } = await enterWithApp(account, "/account/security");
  const call = ["DELETE", /\/auth\/v1\/factors\//];
  await page.getByRole("button", { name: "Remove Pocket" }).click();
  const remove = page.getByRole("dialog").getByRole("button", { name: "Remove" });
  let release = await refuse(page, call, "conflict", { status: 409 });
  await remove.click();
  await alerts(page.getByRole("dialog"), "The server took too long or had a problem. Please try again.");
  await release();
  release = await refuse(page, call, "mfa_factor_not_found", { status: 404 });
  const listed = page.waitForResponse((response) => response.url().endsWith("/auth/v1/user"));
  await remove.click();
  await inToast("That method no longer exists.")(page);
  await listed;
  assert.equal(await page.getByRole("dialog").count(), 0);
});

test("removing an app asks for the second step when the server does", async () => {
  const { page, who } = await enterWithApp(account, "/account/security");
  await page.getByRole("button", { name: "Remove Pocket" }).click();
  const call = ["DELETE", /\/auth\/v1\/factors\//];
  const release = await refuse(page, call, "insufficient_aal", { status: 403 });
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await dialog.getByText("Confirm with your second step to continue.").waitFor();
  await release();
  await look(page, "factor-remove-step-up");
  await field(dialog, "Code from your authenticator app").fill(codeOf(who.secret));
  await says(page, "You have no second step yet.");
});
