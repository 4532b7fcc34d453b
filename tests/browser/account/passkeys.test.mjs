// Passkeys and security keys on the account pages, with a virtual authenticator (5.6, 5.11).

import { after, before, test } from "node:test";

import { addAuthenticator } from "../support/chromium.mjs";
import { alerts, field, heading, look, openAccount, says, signIn } from "../support/account.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.passkey.enabled": true,
    "auth.mfa.web_authn.enroll_enabled": true,
    "auth.mfa.web_authn.verify_enabled": true,
  });
});
after(() => account?.stop());

test("a passkey is added, named, used and removed", async () => {
  const { page } = await account.enter("/account/security");
  await addAuthenticator(page);
  await says(page, "You have no passkey yet.");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await says(page, "Passkey added.");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await alerts(page, "This device already has a passkey.");
  await page.getByRole("button", { name: /^Rename/ }).click();
  await field(page, "Name").fill("Laptop");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Remove Laptop" }).waitFor();
  await look(page, "passkeys");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await heading(page, "Profile").catch(async () => {
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await heading(page, "Profile");
  });
  await page.getByRole("link", { name: "Two-step verification" }).click();
  await page.getByRole("button", { name: "Remove Laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await says(page, "You have no passkey yet.");
});

test("without a passkey nothing happens, and the page says so", async () => {
  const page = await account.visit("/sign-in");
  await heading(page, "Sign in");
  await look(page, "sign-in-passkey");
  await addAuthenticator(page);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await says(page, "No passkey was used.");
});

test("a security key is the second step", async () => {
  const { who, page } = await account.enter("/account/security");
  await addAuthenticator(page, "security key");
  await page.getByRole("button", { name: "Add a security key" }).click();
  await field(page.getByRole("dialog"), "Name").fill("Blue key");
  await look(page, "security-key-name");
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  await says(page, "Security key added.");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await signIn(page, who);
  await heading(page, "One more step");
  await look(page, "mfa-security-key");
  await page.getByRole("button", { name: "Use security key" }).click();
  await heading(page, "Profile");
});
