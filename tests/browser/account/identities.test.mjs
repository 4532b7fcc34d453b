// OAuth identities: signing in with, linking and unlinking an account of a real OpenID provider
// (client contract 5.6, 5.12).

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { startOpenIdProvider } from "../../js-clients/support/openid.mjs";
import { auditScreen, field, heading, openAccount, waitForAlert, waitForText } from "../support/account.mjs";
import { banned } from "../support/errors-by-form.mjs";
import { atSignIn, inBanner, inToast, respondWithError } from "../support/error-responses.mjs";

let idp;
let account;
before(async () => {
  idp = await startOpenIdProvider();
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
  Object.assign(idp.user, {
    sub,
    email: `${sub}@mail.dev`,
    email_verified: true,
  });
});

test("a user signs in with a provider, and the method is remembered", async () => {
  const page = await account.visit("/sign-in?next=%2Faccount%2Fidentities");
  await auditScreen(page, "sign-in-providers");
  await page.getByRole("button", { name: "Continue with Keycloak" }).click();
  await heading(page, "Connected accounts");
  await waitForText(page, idp.user.email);
  assert.ok(!page.url().includes("code="), page.url());

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await page.getByRole("button", { name: /Keycloak Last used/ }).waitFor();
});

test("the only way to sign in cannot be disconnected", async () => {
  const page = await account.visit("/sign-in");
  await page.getByRole("button", { name: "Continue with Keycloak" }).click();
  await page.getByRole("link", { name: "Connected accounts" }).click();
  await waitForText(page, "This is your only way to sign in.");
  assert.ok(await page.getByRole("button", { name: "Disconnect Keycloak" }).isDisabled());
});

test("an account is connected, and disconnected again", async () => {
  const { page } = await account.openSignedIn("/account/identities");
  await auditScreen(page, "identities-one");
  await page.getByRole("button", { name: "Connect Keycloak" }).click();
  await waitForText(page, "Keycloak is connected.");
  await heading(page, "Connected accounts");
  await auditScreen(page, "identities");
  await page.getByRole("button", { name: "Disconnect Keycloak" }).click();
  await auditScreen(page, "identity-remove");
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await waitForText(page, "Keycloak is disconnected.");
  await page.getByRole("button", { name: "Connect Keycloak" }).waitFor();
});

test("an identity of another user cannot be linked", async () => {
  const other = await account.visit("/sign-in");
  await other.getByRole("button", { name: "Continue with Keycloak" }).click();
  await heading(other, "Profile");

  const { user, page } = await account.openSignedIn("/account/identities");
  await page.getByRole("button", { name: "Connect Keycloak" }).click();
  await waitForText(page, "That account is already connected to another user.");
  await heading(page, "Connected accounts");
  await waitForText(page, user.email);
});

test("a cancellation at the provider is not an error", async () => {
  const page = await account.visit("/callback?error=access_denied&error_description=no");
  await heading(page, "Sign-in was cancelled");
  await auditScreen(page, "callback-cancelled");
});

test("a code that another browser asked for opens nothing here", async () => {
  const page = await account.visit("/callback?code=00000000-0000-4000-8000-000000000000");
  await waitForText(page, "Open the link in the browser where you started, or request a new one.");
  await auditScreen(page, "callback-other-browser");
});

test("disconnecting: each error is shown in the dialog, and a missing identity is removed", async () => {
  const { page, user } = await account.openSignedIn("/account/identities");
  await page.getByRole("button", { name: "Connect Keycloak" }).click();
  await waitForText(page, "Keycloak is connected.");
  await page.getByRole("button", { name: "Disconnect E-mail and password" }).click();
  await waitForText(page, `It provides the e-mail address of this account, ${user.email}.`);
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Disconnect Keycloak" }).click();
  const dialog = page.getByRole("dialog");
  const disconnect = dialog.getByRole("button", { name: "Disconnect", exact: true });
  const call = ["DELETE", /\/auth\/v1\/user\/identities\//];
  const texts = {
    single_identity_not_deletable: "Add another way to sign in first.",
    email_conflict_identity_not_deletable:
      "Another user already has the e-mail this change would leave you with.",
    manual_linking_disabled: "Connecting accounts is turned off here.",
  };
  for (const [code, text] of Object.entries(texts)) {
    const release = await respondWithError(page, call, code);
    await disconnect.click();
    await waitForAlert(dialog, text);
    assert.equal(await release(), 1);
  }
  await respondWithError(page, call, "identity_not_found", { status: 404 });
  const listed = page.waitForResponse((response) => response.url().endsWith("/auth/v1/user"));
  await disconnect.click();
  await inToast("That connection no longer exists.")(page);
  await listed;
  assert.equal(await dialog.count(), 0);
});

test("connecting: each error is shown with the provider's name", async () => {
  const { page } = await account.openSignedIn("/account/identities");
  const texts = {
    manual_linking_disabled: "Connecting accounts is turned off here.",
    provider_disabled: "Signing in with Keycloak isn't available.",
    oauth_provider_not_supported: "Signing in with Keycloak isn't available.",
    identity_already_exists: "That account is already connected to another user.",
    user_sso_managed: "Your organisation manages this; change it there.",
  };
  for (const [code, text] of Object.entries(texts)) {
    const release = await respondWithError(page, ["GET", /\/user\/identities\/authorize/], code);
    await page.getByRole("button", { name: "Connect Keycloak" }).click();
    await inBanner(text)(page);
    assert.equal(await release(), 1);
  }
});

test("an address that the provider has not confirmed gets a mail first", async () => {
  idp.user.email_verified = false;
  const page = await account.visit("/sign-in");
  await page.getByRole("button", { name: "Continue with Keycloak" }).click();
  await waitForText(page, "Check your mail: Keycloak hasn't confirmed this address, so we sent you a link.");
  await auditScreen(page, "callback-unverified");
  assert.ok(await account.plinth.mailTo(idp.user.email));
});

test("a user of a provider has no password yet, and may set one", async () => {
  const page = await account.visit("/sign-in?next=%2Faccount%2Fpassword");
  await page.getByRole("button", { name: "Continue with Keycloak" }).click();
  await heading(page, "Set a password");
  assert.equal(await field(page, "Current password").count(), 0);
  await auditScreen(page, "password-first");
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  await waitForText(page, "Password changed.");
});

test("connecting: a session that is no more leads to the sign-in page, a suspended account to its own", async () => {
  const call = ["GET", /\/user\/identities\/authorize/];
  for (const [code, stands] of Object.entries({ session_not_found: atSignIn, user_banned: banned })) {
    const { page } = await account.openSignedIn("/account/identities");
    await respondWithError(page, call, code, { status: 403 });
    await page.getByRole("button", { name: "Connect Keycloak" }).click();
    await stands(page);
  }
});

test("a provider that an address names is believed if it is one of ours", async () => {
  const { page } = await account.openSignedIn();
  await page.goto(
    `${account.url}/callback?error=x&error_code=provider_disabled&linked=keycloak&next=%2Faccount%2Fidentities`,
  );
  await heading(page, "Connected accounts");
  await waitForAlert(page, "Signing in with Keycloak isn't available.");
});

test("a question about disconnecting that is loaded again is asked again, and nothing has changed", async () => {
  const { page } = await account.openSignedIn("/account/identities");
  await page.getByRole("button", { name: "Connect Keycloak" }).click();
  await waitForText(page, "Keycloak is connected.");
  const disconnect = page.getByRole("button", { name: "Disconnect Keycloak" });
  await disconnect.click();
  await page.getByRole("dialog").waitFor();
  await page.reload();
  await disconnect.waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
  await disconnect.click();
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await waitForText(page, "Keycloak is disconnected.");
});
