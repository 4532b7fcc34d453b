// Error messages by form and error code, and their placement (client contract 5.15).
//
// Codes that are easy to provoke with a real server are covered elsewhere; here the responses are simulated,
// for every form.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  auditScreen,
  becomesTrue,
  field,
  getsTitle,
  hasFocus,
  heading,
  isSessionValid,
  openAccount,
  signIn,
  waitForText,
} from "../support/account.mjs";
import { forms, formSettings, openForm } from "../support/forms.mjs";
import {
  banned,
  errorsByForm,
  errorsOfAnyForm,
  serverError,
  tooManyRequests,
} from "../support/errors-by-form.mjs";
import {
  atSignIn,
  errorResponse,
  inBanner,
  inField,
  intercept,
  onPage,
  respondWithError,
} from "../support/error-responses.mjs";
import { openSignedInWithTotp } from "../support/totp.mjs";

let account;
before(async () => {
  account = await openAccount({
    ...formSettings,
    "plinth.account.support_url": "https://harbour.example/help",
  });
});
after(() => account?.stop());

for (const [name, list] of Object.entries(errorsByForm)) {
  test(`${name}: each error is shown in its place`, async () => {
    const form = await openForm(account, name);
    for (const [code, expectShown, more] of [...list, ...errorsOfAnyForm]) {
      const release = await respondWithError(form.page, form.call, code, more);
      await form.send();
      await expectShown(form.page).catch((error) => {
        throw new Error(`${name}, ${code}: ${error.message}`, { cause: error });
      });
      assert.equal(await release(), 1, `${name}, ${code}`);
    }
  });
}

test("an address that is taken can be used to sign in or to get a new password", async () => {
  const { page, call, send, user } = await openForm(account, "sign up");
  await respondWithError(page, call, "user_already_exists");
  await send();
  await page.getByRole("alert").getByRole("link", { name: "Reset your password" }).click();
  await heading(page, "Forgot your password?");
  assert.equal(await field(page, "E-mail").inputValue(), user.email);
});

test("if accounts cannot be deleted, a support link is shown", async () => {
  const { page, call, send } = await openForm(account, "delete account");
  await respondWithError(page, call, "feature_disabled");
  await send();
  const link = page.getByRole("alert").getByRole("link", { name: "Contact support" });
  assert.equal(await link.getAttribute("href"), "https://harbour.example/help");
});

for (const name of [
  "sign in",
  "sign in with a code",
  "code after sign-up",
  "code of a reset",
  "second step",
  "change password",
]) {
  test(`${name}: a suspended account gets a page of its own`, async () => {
    const { page, call, send } = await openForm(account, name);
    await respondWithError(page, call, "user_banned", { status: 403 });
    await send();
    await banned(page);
    assert.ok(await getsTitle(page, "Error: "));
    // A signed-in user can sign out.
    const isIn = ["second step", "change password"].includes(name);
    const leave = page.getByRole("button", { name: "Sign out" });
    assert.equal(await leave.count(), isIn ? 1 : 0);
    if (isIn) {
      await leave.click();
      return heading(page, "You're signed out");
    }
    // Navigation resets the page.
    await page.evaluate(() => history.pushState(null, "", "/signed-out"));
    await heading(page, "You're signed out");
  });
}

for (const code of ["otp_disabled", "signup_disabled", "user_not_found"]) {
  test(`asking for a code: ${code} looks like a mail that was sent`, async () => {
    const { page, call, send, user } = await openForm(account, "ask for a code");
    await respondWithError(page, call, code);
    await send();
    await heading(page, "Check your mail");
    await waitForText(page, "If an account exists, we sent a link and a 6-digit code to");
    await waitForText(page, user.email);
  });
}

/** Only an address with an account can hit the send rate limit. */
const limits = {
  "ask for a code": "over_email_send_rate_limit",
  "ask for a text message": "over_sms_send_rate_limit",
  "forgot password": "over_email_send_rate_limit",
};
for (const [name, code] of Object.entries(limits)) {
  test(`${name}: ${code} looks like a message that was sent`, async () => {
    const { page, call, send, expectNext } = await openForm(account, name);
    await page.clock.install();
    const release = await respondWithError(page, call, code, {
      status: 429,
      headers: { "retry-after": "9" },
    });
    await send();
    await expectNext(page);
    await page.getByRole("button", { name: /^Send a new code in (60|[2-5]\d) s$/ }).waitFor();
    await page.clock.fastForward(60_000);
    await page.getByRole("button", { name: "Send a new code", exact: true }).click();
    await waitForText(page, "Sent.");
    await page.getByRole("button", { name: /^Send a new code in (60|[2-5]\d) s$/ }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.equal(await release(), 2);
  });
}

test("sign up: too many messages look like one that was sent, as does asking for another", async () => {
  const { page, call, send, expectNext } = await openForm(account, "sign up");
  await page.clock.install();
  const code = "over_email_send_rate_limit";
  const release = await respondWithError(page, call, code, { status: 429, headers: { "retry-after": "9" } });
  await respondWithError(page, ["POST", /\/auth\/v1\/resend/], code, { status: 429 });
  await send();
  await expectNext(page);
  await page.getByRole("button", { name: /^Send a new code in (60|[2-5]\d) s$/ }).waitFor();
  await page.clock.fastForward(60_000);
  await page.getByRole("button", { name: "Send a new code", exact: true }).click();
  await waitForText(page, "Sent.");
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal(await release(), 1);
});

test("after five wrong codes a new one is offered, and each wrong one is ready to be typed over", async () => {
  const { page, send } = await openForm(account, "sign in with a code");
  const release = await respondWithError(page, forms["sign in with a code"].call, "otp_expired", {
    status: 403,
  });
  const offer = page.getByText("Still not right? Ask for a new code below.");
  for (let failures = 1; failures <= 5; failures += 1) {
    assert.equal(await offer.count(), 0, `after ${failures - 1}`);
    await send();
    await waitForText(page, "Wrong or expired code.");
    const isSelected = (input) =>
      input === document.activeElement && input.selectionEnd - input.selectionStart === 6;
    assert.ok(await becomesTrue(field(page, "Code"), isSelected), `after ${failures}`);
  }
  await offer.waitFor();
  await release();
});

test("a server that asks for the present password is given it", async () => {
  const { page, user, call, send } = await openForm(account, "change password");
  assert.equal(await field(page, "Current password").count(), 0);
  let release = await respondWithError(page, call, "current_password_required");
  await send();
  await inField("Current password", "Enter your current password.")(page);
  await release();
  release = await respondWithError(page, call, "current_password_invalid");
  await field(page, "Current password").fill("wrong");
  await send();
  await inField("Current password", "Your current password is wrong.")(page);
  await release();
  let sent;
  release = await intercept(page, call, (route) => {
    sent = route.request().postDataJSON();
    return route.continue();
  });
  await field(page, "Current password").fill(user.password);
  await send();
  await waitForText(page, "Password changed. Your other devices were signed out.");
  assert.deepEqual([sent.current_password, sent.password], [user.password, "battery staple"]);
  await release();
});

test("a code that is missing is asked for in the dialog, and sent", async () => {
  const { page, call, send } = await openForm(account, "change password");
  await intercept(page, call, (route, count) =>
    count === 1 ? route.fulfill(errorResponse("reauth_nonce_missing")) : route.continue(),
  );
  await send();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await dialog.getByText("Error: Enter the code.").waitFor();
  assert.equal(await field(dialog, "Code").getAttribute("aria-invalid"), "true");
  await dialog.getByText("We sent a code to").waitFor();
});

test("calls that require the second factor open a dialog; closing it changes nothing", async () => {
  const { page, user } = await openSignedInWithTotp(account);
  // With unsaved changes, the browser asks before leaving.
  page.on("dialog", (asked) => asked.accept());
  const names = Object.keys(forms).filter((name) => forms[name].path);
  for (const name of names) {
    const { path, call, button, values } = forms[name];
    await page.goto(account.url + path);
    const release = await respondWithError(page, call, "insufficient_aal", { status: 403 });
    for (const [label, value] of Object.entries(values({ user }))) await field(page, label).fill(value);
    await page.getByRole("button", { name: button, exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
    await dialog.getByText("Confirm with your second step to continue.").waitFor();
    await field(dialog, "Code from your authenticator app").waitFor();
    await page.keyboard.press("Escape");
    await inBanner("Nothing was changed.")(page);
    assert.equal(await release(), 1, name);
  }
  assert.ok(names.length >= 6, names.join());
});

test("a dialog over a form with the same fields has names of its own", async () => {
  const { page } = await openSignedInWithTotp(account, "/account/email");
  const { call, button, values } = forms["change e-mail"];
  const change = async () => {
    for (const [label, value] of Object.entries(values())) await field(page, label).fill(value);
    await page.getByRole("button", { name: button, exact: true }).click();
  };
  await change();
  await field(page, "Code from the mail").waitFor();
  await respondWithError(page, call, "insufficient_aal", { status: 403 });
  await change();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  const code = field(dialog, "Code from your authenticator app");
  await code.waitFor();
  assert.equal(await code.getAttribute("name"), "code");
  assert.equal(await page.locator("main input[name=code]").count(), 1);
  const ids = await page.locator("[id]").evaluateAll((elements) => elements.map(({ id }) => id));
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  );
  await auditScreen(page, "email-step-up");

  // An error moves the focus to the field of its own form.
  await dialog.getByRole("button", { name: "Continue" }).click();
  assert.ok(await hasFocus(code));
});

test("a session that is no more leads to the sign-in page, and back", async () => {
  const { page, user, call, send } = await openForm(account, "change password");
  const codes = [
    ["user_not_found", 404],
    ["session_not_found", 403],
    ["session_expired", 401],
    ["refresh_token_not_found", 400],
    ["refresh_token_already_used", 400],
    ["bad_jwt", 403],
    ["no_authorization", 401],
  ];
  for (const [code, status] of codes) {
    const release = await respondWithError(page, call, code, { status });
    await send();
    await atSignIn(page);
    await release();
    await signIn(page, user);
    await heading(page, "Change your password");
  }
});

test("the same when a page cannot be loaded for it, and at the second step", async () => {
  const { page } = await account.openSignedIn();
  await respondWithError(page, ["GET", /\/auth\/v1\/user$/], "session_expired", { status: 401 });
  await page.goto(`${account.url}/account/email`);
  await atSignIn(page);

  const step = await openForm(account, "second step");
  await respondWithError(step.page, step.call, "session_not_found", { status: 403 });
  await step.send();
  await heading(step.page, "Sign in");
  await waitForText(step.page, "You've been signed out. Please sign in again.");
  assert.equal(new URL(step.page.url()).searchParams.get("reason"), "expired");
});

test("a reset whose session is over needs another link", async () => {
  const { page, call, send } = await openForm(account, "reset password");
  await respondWithError(page, call, "session_not_found", { status: 403 });
  await send();
  await heading(page, "This page needs a reset link.");
});

test("a link says what became of it", async () => {
  const call = ["POST", /\/auth\/v1\/verify/];
  const path = "/confirm?token_hash=abc&type=signup";
  const outcomes = [
    ["otp_expired", onPage("This link no longer works", "This link has expired or was already used.")],
    ["user_banned", banned],
    ["over_request_rate_limit", tooManyRequests],
    ["unexpected_failure", serverError, { status: 500 }],
  ];
  for (const [code, expectShown, more] of outcomes) {
    const page = await account.visit(path);
    await respondWithError(page, call, code, more);
    await page.getByRole("button", { name: "Confirm e-mail" }).click();
    await expectShown(page);
    assert.ok(await getsTitle(page, "Error: "), code);
    await page.context().close();
  }
});

test("a failed redirect from a provider shows the reason", async () => {
  const unfinished = "Sign-in didn't finish";
  const startAgain = "Sign-in didn't finish. Please start again.";
  const otherBrowser = "Open the link in the browser where you started, or request a new one.";
  const organisation =
    "Your organisation's sign-in didn't finish. Start again or contact your administrator.";
  const texts = {
    provider_disabled: "Signing in with this provider isn't available.",
    oauth_provider_not_supported: "Signing in with this provider isn't available.",
    bad_oauth_state: startAgain,
    bad_oauth_callback: startAgain,
    oauth_invalid_state: startAgain,
    oauth_client_state_not_found: startAgain,
    oauth_client_state_expired: startAgain,
    provider_email_needs_verification:
      "Check your mail: this provider hasn't confirmed this address, so we sent you a link.",
    identity_already_exists: "That account is already connected to another user.",
    flow_state_not_found: otherBrowser,
    flow_state_expired: otherBrowser,
    flow_state_already_used: otherBrowser,
    bad_code_verifier: otherBrowser,
    pkce_code_verifier_not_found: otherBrowser,
    invite_not_found: "This invitation is no longer valid.",
    saml_relay_state_expired: organisation,
    saml_relay_state_not_found: organisation,
    saml_assertion_no_email: organisation,
    saml_assertion_no_user_id: organisation,
    signup_disabled: "This way of signing in is turned off.",
    unexpected_failure: "The server took too long or had a problem. Please try again.",
  };
  const page = await account.visit("/signed-out");
  for (const [code, text] of Object.entries(texts)) {
    // Query and fragment may contain it; both are stripped.
    const mark = code.startsWith("saml") ? "#" : "?";
    await page.goto("about:blank");
    await page.goto(
      `${account.url}/callback${mark}error=server_error&error_code=${code}&error_description=x`,
    );
    await onPage(unfinished, text)(page);
    assert.equal(page.url(), `${account.url}/callback`);
    await page.getByRole("link", { name: "Back to sign-in" }).waitFor();
  }
  for (const linked of ["constructor", "password", "Call +1 555 0100"]) {
    const said = new URLSearchParams({ error: "x", error_code: "provider_disabled", linked });
    await page.goto("about:blank");
    await page.goto(`${account.url}/callback?${said}`);
    await onPage(unfinished, texts.provider_disabled)(page);
  }
  // The URL is untrusted: its description is not shown.
  const forged = {
    weak_password: "Choose a stronger password.",
    mfa_verification_rejected: "This step was refused.",
    "Call +1 555 0100": "The server took too long or had a problem. Please try again.",
  };
  for (const [code, text] of Object.entries(forged)) {
    for (const start of ["/callback?", "/callback#", "/confirm?", "/confirm#"]) {
      const said = new URLSearchParams({
        error: "server_error",
        error_code: code,
        error_description: "Call +1 555 0100",
        linked: "Call +1 555 0100",
      });
      await page.goto("about:blank");
      await page.goto(`${account.url}${start}${said}`);
      await onPage(unfinished, text)(page);
      assert.equal(await page.getByText("555").count(), 0, `${start} ${code}`);
    }
  }
  await page.goto("about:blank");
  await page.goto(`${account.url}/callback?error=access_denied&error_code=user_banned`);
  await banned(page);
  await page.goto("about:blank");
  await page.goto(`${account.url}/callback#error=access_denied&error_code=otp_expired`);
  await onPage("This link no longer works", "This link has expired or was already used.")(page);
});

test("errors in a URL neither sign the user out nor show messages about the account", async () => {
  const session = await account.authRequest("/token?grant_type=password", await account.createUser());
  const page = await account.openWithSession(session, "/account");
  await heading(page, "Profile");
  const cookies = async () => (await page.context().cookies()).map(({ name, value }) => [name, value]);
  const before = await cookies();
  const codes = [
    "user_not_found",
    "session_not_found",
    "session_expired",
    "refresh_token_not_found",
    "refresh_token_already_used",
    "bad_jwt",
    "no_authorization",
    "user_banned",
  ];
  for (const code of codes) {
    for (const start of ["/callback?", "/confirm#"]) {
      await page.goto("about:blank");
      await page.goto(`${account.url}${start}error=x&error_code=${code}&next=%2Faccount`);
      await onPage(
        "Sign-in didn't finish",
        "The server took too long or had a problem. Please try again.",
      )(page);
      assert.deepEqual(await cookies(), before, code);
      assert.ok(await isSessionValid(account, session), code);
    }
  }
  await page.getByRole("link", { name: "Back to your account" }).click();
  await heading(page, "Profile");
});

test("a link from another site does not sign the user out", async () => {
  const { page } = await account.openSignedIn();
  const there = `${account.url}/callback?error=x&error_code=bad_jwt`;
  await page.route("http://elsewhere.test/**", (route) =>
    route.fulfill({ contentType: "text/html", body: `<script>location = ${JSON.stringify(there)}</script>` }),
  );
  await page.goto("http://elsewhere.test/");
  await heading(page, "Sign-in didn't finish");
  await page.goto(`${account.url}/account`);
  await heading(page, "Profile");
});

test("words of an address are not shown inside the account either", async () => {
  const { page } = await account.openSignedIn();
  const said = new URLSearchParams({
    error: "x",
    error_code: "provider_disabled",
    linked: "your account was locked. Call +1 555 0100",
    next: "/account/identities",
  });
  await page.goto(`${account.url}/callback?${said}`);
  await onPage("Sign-in didn't finish", "Signing in with this provider isn't available.")(page);
  assert.equal(await page.getByText("555").count(), 0);
});

test("a link that cannot be used says nothing of the session that is there", async () => {
  const { page } = await account.openSignedIn();
  await page.goto(`${account.url}/confirm?token_hash=abc&type=magiclink`);
  await respondWithError(page, ["POST", /\/auth\/v1\/verify/], "user_not_found", { status: 404 });
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.goto(`${account.url}/account`);
  await heading(page, "Profile");
});
