// TOTP as a second factor: enrollment, challenge, step-up, removal (client contract 5.7, 5.11).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  auditScreen,
  field,
  hasFocus,
  heading,
  openAccount,
  signIn,
  waitForAlert,
  waitForText,
} from "../support/account.mjs";
import { inToast, respondWithError } from "../support/error-responses.mjs";
import { createUserWithTotp, nextTotpCode, openSignedInWithTotp } from "../support/totp.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.mfa.totp.enroll_enabled": true,
    "auth.mfa.totp.verify_enabled": true,
  });
});
after(() => account?.stop());

/** Enrolls a TOTP factor; returns its secret. */
async function enrollTotp(page, name = "Phone") {
  await page.goto(`${account.url}/account/security/totp/new`);
  await field(page, "Name").fill(name);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByAltText("QR code for your authenticator app").waitFor();
  const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
  await field(page, "Code from your authenticator app").fill(nextTotpCode(secret));
  await heading(page, "Two-step verification is on");
  return secret;
}

test("an app is set up and asked for at the next sign-in", async () => {
  const { user, page } = await account.openSignedIn("/account/security");
  await waitForText(page, "You have no second step yet.");
  await auditScreen(page, "security-empty");
  await page.getByRole("link", { name: "Set up an authenticator app" }).click();
  await heading(page, "Set up an authenticator app");
  await auditScreen(page, "totp-name");
  await field(page, "Name").fill("Pocket");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByAltText("QR code for your authenticator app").waitFor();
  const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
  await auditScreen(page, "totp-scan");
  await field(page, "Code from your authenticator app").fill("000000");
  await waitForAlert(page, "That code isn't right. Codes change every 30 seconds.");
  await field(page, "Code from your authenticator app").fill(nextTotpCode(secret));
  await heading(page, "Two-step verification is on");
  await auditScreen(page, "totp-done");
  await page.getByRole("link", { name: /See your second steps/ }).click();
  await waitForText(page, "You have one second step.");
  await auditScreen(page, "security");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await signIn(page, user);
  await heading(page, "One more step");
  assert.equal(await page.getByText(user.email).count(), 0);
  await auditScreen(page, "mfa");
  await page.goto(`${account.url}/account/sessions`);
  await heading(page, "One more step");
  await field(page, "Code from your authenticator app").fill("000000");
  await waitForAlert(page, "That code isn't right.");
  await auditScreen(page, "mfa-wrong");
  await field(page, "Code from your authenticator app").fill(nextTotpCode(secret));
  await heading(page, "Devices");
});

test("a user without their second factor can still sign out", async () => {
  const { user, page } = await account.openSignedIn();
  await enrollTotp(page);
  const other = await account.visit("/sign-in");
  await signIn(other, user);
  await heading(other, "One more step");
  await other.getByRole("button", { name: "Sign out" }).click();
  await heading(other, "You're signed out");
});

test("two apps cannot have one name, and a set-up can be given up", async () => {
  const { page } = await account.openSignedIn();
  await enrollTotp(page, "Phone");
  await page.goto(`${account.url}/account/security/totp/new`);
  await field(page, "Name").fill("Phone");
  await page.getByRole("button", { name: "Continue" }).click();
  await waitForAlert(page, "You already have a method with this name.");
  await field(page, "Name").fill("Tablet");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByAltText("QR code for your authenticator app").waitFor();
  await page.goto(`${account.url}/account/security`);
  await heading(page, "Two-step verification");
  await page.getByRole("list", { name: "Unfinished set-up" }).getByText("Tablet").waitFor();
  await auditScreen(page, "security-unfinished");
  await page.getByRole("button", { name: "Remove Tablet" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await waitForText(page, "Tablet is removed.");
});

test("removing the last one warns, and the password is enough again", async () => {
  const { user, page } = await account.openSignedIn();
  await enrollTotp(page, "Phone");
  await page.goto(`${account.url}/account/security`);
  await page.getByRole("button", { name: "Remove Phone" }).click();
  await waitForText(page, "It is your last one");
  assert.ok(await hasFocus(page.getByRole("dialog").getByRole("button", { name: "Cancel" })));
  await auditScreen(page, "factor-remove");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(await hasFocus(page.getByRole("button", { name: "Remove Phone" })));
  await page.getByRole("button", { name: "Remove Phone" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await waitForText(page, "You have no second step yet.");

  const other = await account.visit("/sign-in");
  await signIn(other, user);
  await heading(other, "Profile");
});

test("a reset asks for the second step before the new password", async () => {
  const { user, page } = await account.openSignedIn();
  const secret = await enrollTotp(page);
  const other = await account.visit("/forgot-password");
  await field(other, "E-mail").fill(user.email);
  await other.getByRole("button", { name: "Send reset link" }).click();
  await heading(other, "Check your mail");
  await field(other, "Code from the mail").fill((await account.mail(user.email)).otp);
  await heading(other, "One more step");
  await other.getByRole("button", { name: "Keep current password" }).waitFor();
  await other.getByRole("button", { name: "Sign out" }).waitFor();
  await auditScreen(other, "reset-second-step");
  await field(other, "Code from your authenticator app").fill(nextTotpCode(secret));
  await heading(other, "Choose a password");
  await field(other, "New password").fill("battery staple");
  await other.getByRole("button", { name: "Save password" }).click();
  await heading(other, "Profile");
});

test("a user without their second factor can leave the password reset", async () => {
  const user = await createUserWithTotp(account);
  const ways = { "Sign out": "You're signed out", "Keep current password": "One more step" };
  for (const [way, title] of Object.entries(ways)) {
    const page = await account.visit("/forgot-password");
    await field(page, "E-mail").fill(user.email);
    await page.getByRole("button", { name: "Send reset link" }).click();
    await heading(page, "Check your mail");
    await field(page, "Code from the mail").fill((await account.mail(user.email)).otp);
    await heading(page, "One more step");
    await page.getByRole("button", { name: way }).click();
    await heading(page, title);
    assert.doesNotMatch(page.url(), /reset-password/);
    await page.goto(`${account.url}/account`);
    await heading(page, way === "Sign out" ? "Sign in" : "One more step");
  }
});

test("a call that asks for the second step gets it, and is repeated", async () => {
  const { page } = await account.openSignedIn();
  const secret = await enrollTotp(page);
  let errorsByForm = 0;
  await page.route("**/user/sessions", (route) => {
    errorsByForm += 1;
    if (errorsByForm > 1) return route.continue();
    const headers = { "x-supabase-api-version": "2024-01-01" };
    return route.fulfill({ status: 403, headers, json: { code: "insufficient_aal", message: "no" } });
  });
  await page.getByRole("link", { name: "Devices" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await dialog.waitFor();
  await auditScreen(page, "step-up");
  await field(dialog, "Code from your authenticator app").fill(nextTotpCode(secret));

  await page.getByRole("list", { name: "Devices" }).waitFor();
  assert.equal(errorsByForm, 2);
});

test("a set-up can be cancelled, and what is unfinished can be finished", async () => {
  const { page } = await account.openSignedIn("/account/security/totp/new");
  await field(page, "Name").fill("Tablet");
  await page.getByRole("button", { name: "Continue" }).click();
  const screenshotPath = page.getByAltText("QR code for your authenticator app");
  await screenshotPath.waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  const ground = await screenshotPath.evaluate((image) => getComputedStyle(image).backgroundColor);
  assert.equal(ground, "rgb(255, 255, 255)");
  const open = page.getByRole("link", { name: "Open in authenticator" });
  assert.match(await open.getAttribute("href"), /^otpauth:\/\/totp\//);
  assert.match(await page.locator("code").innerText(), /^(\S{4} )+\S{1,4}$/);
  await page.getByRole("button", { name: "Cancel" }).click();
  await waitForText(page, "You have no second step yet.");
  assert.equal(await page.getByText("Tablet").count(), 0);

  await page.getByRole("link", { name: "Set up an authenticator app" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await screenshotPath.waitFor();
  const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
  await page.getByRole("link", { name: "Two-step verification" }).click();
  await page.getByRole("button", { name: "Finish setting up Authenticator app" }).click();
  const dialog = page.getByRole("dialog", { name: "Finish setting up" });
  await auditScreen(page, "totp-finish");
  await field(dialog, "Code from your authenticator app").fill(nextTotpCode(secret));
  await waitForText(page, "You have one second step.");
});

test("a factor that was removed elsewhere disappears here, too", async () => {
  const { page } = await openSignedInWithTotp(account, "/account/security");
  const call = ["DELETE", /\/auth\/v1\/factors\//];
  await page.getByRole("button", { name: "Remove Pocket" }).click();
  const remove = page.getByRole("dialog").getByRole("button", { name: "Remove" });
  let release = await respondWithError(page, call, "conflict", { status: 409 });
  await remove.click();
  await waitForAlert(
    page.getByRole("dialog"),
    "The server took too long or had a problem. Please try again.",
  );
  await release();
  release = await respondWithError(page, call, "mfa_factor_not_found", { status: 404 });
  const listed = page.waitForResponse((response) => response.url().endsWith("/auth/v1/user"));
  await remove.click();
  await inToast("That method no longer exists.")(page);
  await listed;
  assert.equal(await page.getByRole("dialog").count(), 0);
});

test("removing an app asks for the second step when the server does", async () => {
  const { page, user } = await openSignedInWithTotp(account, "/account/security");
  await page.getByRole("button", { name: "Remove Pocket" }).click();
  const call = ["DELETE", /\/auth\/v1\/factors\//];
  const release = await respondWithError(page, call, "insufficient_aal", { status: 403 });
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await dialog.getByText("Confirm with your second step to continue.").waitFor();
  await release();
  await auditScreen(page, "factor-remove-step-up");
  await field(dialog, "Code from your authenticator app").fill(nextTotpCode(user.secret));
  await waitForText(page, "You have no second step yet.");
});
