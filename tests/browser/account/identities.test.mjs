// Accounts elsewhere: signing in with one, connecting and disconnecting it, at a real OpenID provider
// (client contract 5.6, 5.12).

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { listenAsProvider } from "../../js-clients/support/openid.mjs";
import { heading, look, openAccount, says } from "../support/account.mjs";

let idp;
let account;
before(async () => {
  idp = await listenAsProvider();
  account = await openAccount({
    "auth.enable_manual_linking": true,
    "auth.external.keycloak.enabled": true,
    "auth.external.keycloak.client_id": idp.client.client_id,
    "auth.external.keycloak.secret": idp.client.client_secret,
    "auth.external.keycloak.url": idp.url,
  });
  idp.serve([`${account.url}/auth/v1/callback`]);
});
after(async () => {
  await account?.stop();
  idp?.stop();
});
beforeEach(() => {
  const sub = `person-${Math.random()}`;
  Object.assign(idp.person, {
    sub,
    email: `${sub}@mail.dev`,
    email_verified: true,
  });
});

test("somebody signs in with an account elsewhere, and it is remembered", async () => {
  const page = await account.visit("/sign-in?next=%2Faccount%2Fidentities");
  await look(page, "sign-in-providers");
  await page.getByRole("button", { name: "Continue with Keycloak" }).click();
  await heading(page, "Connected accounts");
  await says(page, idp.person.email);
  assert.ok(!page.url().includes("code="), page.url());

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await page.getByRole("button", { name: /Keycloak Last used/ }).waitFor();
});

test("the only way to sign in cannot be disconnected", async () => {
  const page = await account.visit("/sign-in");
  await page.getByRole("button", { name: "Continue with Keycloak" }).click();
  await page.getByRole("link", { name: "Connected accounts" }).click();
  await says(page, "This is your only way to sign in.");
  assert.ok(await page.getByRole("button", { name: "Disconnect Keycloak" }).isDisabled());
});

test("an account is connected, and disconnected again", async () => {
  const { page } = await account.enter("/account/identities");
  await look(page, "identities-one");
  await page.getByRole("button", { name: "Connect Keycloak" }).click();
  await heading(page, "Connected accounts");
  await says(page, "Keycloak is connected.");
  await look(page, "identities");
  await page.getByRole("button", { name: "Disconnect Keycloak" }).click();
  await look(page, "identity-remove");
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await says(page, "Keycloak is disconnected.");
  await page.getByRole("button", { name: "Connect Keycloak" }).waitFor();
});

test("an account that is somebody else's stays theirs", async () => {
  const other = await account.visit("/sign-in");
  await other.getByRole("button", { name: "Continue with Keycloak" }).click();
  await heading(other, "Profile");

  const { who, page } = await account.enter("/account/identities");
  await page.getByRole("button", { name: "Connect Keycloak" }).click();
  await says(page, "That account is already connected to another user.");
  await heading(page, "Connected accounts");
  await says(page, who.email);
});

test("a refusal at the provider is no mistake", async () => {
  const page = await account.visit("/callback?error=access_denied&error_description=no");
  await heading(page, "Sign-in was cancelled");
  await look(page, "callback-cancelled");
});

test("a code that another browser asked for opens nothing here", async () => {
  const page = await account.visit("/callback?code=00000000-0000-4000-8000-000000000000");
  await says(page, "Open the link in the browser where you started, or request a new one.");
  await look(page, "callback-other-browser");
});
