// Passkeys and security keys on the account pages, with a virtual authenticator (5.6, 5.11).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { addAuthenticator } from "../support/chromium.mjs";
import {
  auditScreen,
  field,
  heading,
  openAccount,
  signIn,
  waitForAlert,
  waitForText,
} from "../support/account.mjs";
import {
  errorResponse,
  inBanner,
  inField,
  intercept,
  onPage,
  respondWithError,
} from "../support/error-responses.mjs";

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
  const { page } = await account.openSignedIn("/account/security");
  await addAuthenticator(page);
  await waitForText(page, "You have no passkey yet.");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await waitForText(page, "Passkey added.");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await waitForAlert(page, "This device already has a passkey.");
  await page.getByRole("button", { name: /^Rename/ }).click();
  await field(page, "Name").fill("Laptop");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Remove Laptop" }).waitFor();
  await auditScreen(page, "passkeys");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  // Conditional mediation may be pending at this moment.
  await heading(page, "Profile").catch(async () => {
    await page
      .getByRole("button", { name: "Use a passkey" })
      .click({ timeout: 2000 })
      .catch(() => {});
    await heading(page, "Profile");
  });
  await page.getByRole("link", { name: "Two-step verification" }).click();
  await page.getByRole("button", { name: "Remove Laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await waitForText(page, "You have no passkey yet.");
});

test("if the passkey settings cannot be loaded, the page shows an error with a retry", async () => {
  const { page } = await account.openSignedIn("/account/sessions");
  const release = await respondWithError(page, ["GET", /\/auth\/v1\/settings/], "conflict", { status: 409 });
  await page.goto(`${account.url}/account/security`);
  await waitForAlert(page, "The server took too long or had a problem. Please try again.");
  await waitForText(page, "You have no second step yet.");
  await release();
  await page.getByRole("button", { name: "Try again" }).click();
  await waitForText(page, "You have no passkey yet.");
  assert.equal(await page.getByRole("alert").count(), 0);
});

test("without a passkey nothing happens, and the page says so", async () => {
  const page = await account.visit("/sign-in");
  await heading(page, "Sign in");
  await auditScreen(page, "sign-in-passkey");
  await addAuthenticator(page);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await waitForText(page, "No passkey was used.");
});

test("a security key is the second step", async () => {
  const { user, page } = await account.openSignedIn("/account/security");
  await addAuthenticator(page, "security key");
  await page.getByRole("button", { name: "Add a security key" }).click();
  await field(page.getByRole("dialog"), "Name").fill("Blue key");
  await auditScreen(page, "security-key-name");
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  await waitForText(page, "Security key added.");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await signIn(page, user);
  await heading(page, "One more step");
  await auditScreen(page, "mfa-security-key");
  await page.getByRole("button", { name: "Use security key" }).click();
  await heading(page, "Profile");
});

const authentication = ["POST", /\/passkeys\/authentication\/options/];
const registration = ["POST", /\/passkeys\/registration\/options/];

/** Without conditional mediation, which would interfere with these tests. */
async function visitWithoutAutofill(path) {
  const page = await account.visit("/signed-out");
  await page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = async () => false;
  });
  await page.goto(account.url + path);
  return page;
}

test("signing in with a passkey: each error is shown", async () => {
  const page = await visitWithoutAutofill("/sign-in");
  const use = page.getByRole("button", { name: "Use a passkey" });
  const texts = {
    webauthn_credential_not_found: "This passkey isn't registered here.",
    webauthn_challenge_not_found: "Please try again.",
    webauthn_verification_failed: "The passkey couldn't be verified.",
    passkey_disabled: "Passkeys are turned off.",
    over_request_rate_limit: "Too many attempts. Try again in a few minutes.",
  };
  for (const [code, text] of Object.entries(texts)) {
    const release = await respondWithError(page, authentication, code);
    await use.click();
    await inBanner(text)(page);
    assert.equal(await release(), 1);
  }
  await respondWithError(page, authentication, "user_banned", { status: 403 });
  await use.click();
  await onPage("This account is suspended", "This account is suspended. Contact support.")(page);
});

test("a challenge that waited too long is made anew, once", async () => {
  const page = await visitWithoutAutofill("/sign-in");
  const release = await respondWithError(page, authentication, "webauthn_challenge_expired");
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await inBanner("Please try again.")(page);
  assert.equal(await release(), 2);
});

test("adding a passkey: each error is shown", async () => {
  const { page } = await account.openSignedIn("/account/security");
  const texts = {
    too_many_passkeys: "Remove a passkey first.",
    webauthn_credential_exists: "This device already has a passkey.",
    webauthn_challenge_expired: "Please try again.",
    webauthn_challenge_not_found: "Please try again.",
    webauthn_verification_failed: "The passkey couldn't be verified.",
    passkey_disabled: "Passkeys are turned off.",
  };
  for (const [code, text] of Object.entries(texts)) {
    const release = await respondWithError(page, registration, code);
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await inBanner(text)(page);
    assert.equal(await release(), 1);
  }
});

test("a passkey that cannot be renamed or removed stays as it is, and the dialog says why", async () => {
  const { page } = await account.openSignedIn("/account/security");
  await addAuthenticator(page);
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await waitForText(page, "Passkey added.");
  const dialog = page.getByRole("dialog");
  const calls = { Rename: ["PATCH", "Save"], Remove: ["DELETE", "Remove"] };
  const texts = {
    webauthn_credential_not_found: "This passkey isn't registered here.",
    over_request_rate_limit: "Too many attempts. Try again in a few minutes.",
  };
  for (const [action, [method, button]] of Object.entries(calls)) {
    await page.getByRole("button", { name: new RegExp(`^${action} `) }).click();
    for (const [code, text] of Object.entries(texts)) {
      const release = await respondWithError(page, [method, /\/auth\/v1\/passkeys\/[^/]+$/], code);
      await dialog.getByRole("button", { name: button, exact: true }).click();
      await waitForAlert(dialog, text);
      assert.equal(await release(), 1);
    }
    await auditScreen(page, `passkey-${action.toLowerCase()}-refused`);
    await dialog.getByRole("button", { name: "Cancel" }).click();
  }
  await page.getByRole("button", { name: /^Remove / }).waitFor();
});

test("adding a security key: each error is shown in its place", async () => {
  const { page } = await account.openSignedIn("/account/security");
  await page.getByRole("button", { name: "Add a security key" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a security key" });
  const places = [
    ["mfa_webauthn_enroll_not_enabled", inBanner("This method is turned off."), 1],
    ["too_many_enrolled_mfa_factors", inBanner("Remove a method before adding another."), 1],
    ["mfa_factor_name_conflict", inField("Name", "You already have a method with this name."), 2],
  ];
  for (const [code, stands, calls] of places) {
    const release = await respondWithError(page, ["POST", /\/auth\/v1\/factors$/], code);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await stands(page);
    assert.equal(await release(), calls, code);
  }
});

test("a key that is touched after its ceremony was given up does nothing", async () => {
  const { page } = await account.openSignedIn("/account/security");
  const keys = await addAuthenticator(page, "security key");
  await keys.touch(false);
  const open = page.getByRole("button", { name: "Add a security key" });
  const dialog = page.getByRole("dialog", { name: "Add a security key" });
  await open.click();
  await dialog.getByRole("button", { name: "Continue" }).click();
  await dialog.getByRole("button", { name: "Waiting for your key…" }).waitFor();
  await auditScreen(page, "security-key-waiting");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Finish setting up Security key" }).waitFor();
  await keys.touch(true);
  await page.getByRole("button", { name: "Finish setting up Security key" }).waitFor();
  assert.deepEqual(await keys.credentials(), []);

  await open.click();
  await dialog.getByRole("button", { name: "Continue" }).click();
  await waitForText(page, "Security key added.");
  assert.equal((await keys.credentials()).length, 1);
});

test("of two ceremonies only the second goes on", async () => {
  const { page } = await account.openSignedIn("/account/security");
  const device = await addAuthenticator(page);
  await device.touch(false);
  const add = page.getByRole("button", { name: "Add a passkey" });
  await add.click();
  await page.getByRole("button", { name: "Waiting for your device…" }).waitFor();
  await page.getByRole("button", { name: "Add a security key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  // The first ceremony was aborted; its error is behind the dialog.
  await page.getByText("Nothing was changed.").waitFor();
  await page.getByRole("button", { name: "Add a passkey", includeHidden: true }).waitFor();
  // A request to an untouched key never completes, so the authenticator is added only now.
  await addAuthenticator(page, "security key");
  await device.touch(true);
  await waitForText(page, "Security key added.");
  await waitForText(page, "You have no passkey yet.");
});

test("a security key that was not touched can be retried, or finished later", async () => {
  const { page } = await account.openSignedIn("/account/security");
  const open = page.getByRole("button", { name: "Add a security key" });
  await open.click();
  const dialog = page.getByRole("dialog", { name: "Add a security key" });
  // No user presence.
  await page.evaluate(() => {
    const create = navigator.credentials.create;
    navigator.credentials.create = async () => {
      navigator.credentials.create = create;
      throw new DOMException("nobody", "NotAllowedError");
    };
  });
  await dialog.getByRole("button", { name: "Continue" }).click();
  await waitForAlert(page, "The security key wasn't used. Please try again.");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const finish = page.getByRole("button", { name: "Finish setting up Security key" });
  await finish.waitFor();
  await addAuthenticator(page, "security key");
  await open.click();
  await dialog.getByRole("button", { name: "Continue" }).click();
  await waitForText(page, "Security key added.");
  assert.equal(await finish.count(), 0);
});

test("a security key whose set-up was left is finished", async () => {
  const { page } = await account.openSignedIn("/account/security");
  await page.evaluate(() => {
    navigator.credentials.create = () => Promise.reject(new DOMException("nobody", "NotAllowedError"));
  });
  await page.getByRole("button", { name: "Add a security key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  await waitForAlert(page, "The security key wasn't used. Please try again.");
  await page.reload();
  await addAuthenticator(page, "security key");
  await page.getByRole("button", { name: "Finish setting up Security key" }).click();
  await auditScreen(page, "security-key-finish");
  await page.getByRole("dialog").getByRole("button", { name: "Use security key" }).click();
  await waitForText(page, "You have one second step.");
});

test("at the second step: error responses, and a key that was not touched", async () => {
  const { user, page } = await account.openSignedIn("/account/security");
  await addAuthenticator(page, "security key");
  await page.getByRole("button", { name: "Add a security key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  await waitForText(page, "Security key added.");
  const other = await account.visit("/sign-in");
  await signIn(other, user);
  const use = other.getByRole("button", { name: "Use security key" });
  const codes = ["mfa_webauthn_verify_not_enabled", "mfa_challenge_expired", "mfa_ip_address_mismatch"];
  const texts = [
    "This method is turned off.",
    "Please enter a new code.",
    "Your network changed in between.",
  ];
  const release = await intercept(other, ["POST", /\/factors\/[^/]+\/challenge/], (route, count) =>
    route.fulfill(errorResponse(codes[count - 1])),
  );
  for (const text of texts) {
    await use.click();
    await waitForAlert(other, text);
  }
  await release();
  await other.evaluate(() => {
    navigator.credentials.get = () => Promise.reject(new DOMException("nobody", "NotAllowedError"));
  });
  await use.click();
  await waitForAlert(other, "The security key wasn't used. Please try again.");
});
