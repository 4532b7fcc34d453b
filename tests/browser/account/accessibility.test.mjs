// Accessibility: keyboard only, zoom, screen readers, autofill (client contract U8, U9, U11, U24). Sign-ups
// need no confirmation here.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser } from "../../js-clients/support/accounts.mjs";
import {
  assertLegible,
  field,
  hasFocus,
  heading,
  keepsFocus,
  openAccount,
  signIn,
  waitForText,
} from "../support/account.mjs";
import { pressOn, tabTo, typeInto } from "../support/keyboard.mjs";
import { respondWithError } from "../support/error-responses.mjs";
import { createUserWithTotp, nextTotpCode, openSignedInWithTotp } from "../support/totp.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.email.enable_confirmations": false,
    "auth.email.double_confirm_changes": false,
    "plinth.account.consent": true,
    "plinth.account.profile_fields": [{ key: "full_name", label: "Name", required: false, max: 80 }],
  });
});
after(() => account?.stop());

const button = (where, name) => where.getByRole("button", { name, exact: true });
const link = (where, name) => where.getByRole("link", { name });
const inApp = "Code from your authenticator app";

test("by keyboard: an account is made, and leads on", async () => {
  const user = newUser();
  const page = await account.visit("/sign-in?next=%2Faccount%2Fsessions");
  await pressOn(page, link(page, "Create an account"));
  await heading(page, "Create an account");
  await typeInto(page, field(page, "Name"), "Ann Lee");
  await typeInto(page, field(page, "E-mail"), user.email);
  await typeInto(page, field(page, "Password"), user.password);
  await pressOn(page, field(page, "I agree"), "Space");
  await page.keyboard.press("Enter");
  await heading(page, "Devices");
});

test("by keyboard: a mistake is found from the summary", async () => {
  const page = await account.visit("/sign-up");
  await pressOn(page, button(page, "Create account"));
  const summary = page.getByRole("alert");
  await summary.waitFor();
  assert.ok(await hasFocus(summary));
  await pressOn(page, link(summary, "E-mail"));
  assert.ok(await hasFocus(field(page, "E-mail")));
  await typeInto(page, field(page, "E-mail"), "nonsense");
  await page.keyboard.press("Tab");
  await page.getByText("Error: Enter a valid e-mail address.").waitFor();
});

test("by keyboard: a code signs in", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  await pressOn(page, link(page, "Sign in with a code instead"));
  await heading(page, "Sign in with a code");
  await typeInto(page, field(page, "E-mail"), user.email);
  await page.keyboard.press("Enter");
  await heading(page, "Check your mail");
  assert.ok(await hasFocus(field(page, "Code")));
  await page.keyboard.type((await account.mail(user.email)).otp);
  await heading(page, "Profile");
});

test("by keyboard: a forgotten password is replaced", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  await pressOn(page, link(page, "Forgot password?"));
  await heading(page, "Forgot your password?");
  await typeInto(page, field(page, "E-mail"), user.email);
  await page.keyboard.press("Enter");
  await heading(page, "Check your mail");
  assert.ok(await hasFocus(field(page, "Code from the mail")));
  await page.keyboard.type((await account.mail(user.email)).otp);
  await heading(page, "Choose a password");
  await typeInto(page, field(page, "New password"), "battery staple");
  await tabTo(page, button(page, "Show new password"));
  await pressOn(page, button(page, "Save password"));
  await heading(page, "Profile");
});

test("by keyboard: a link is used", async () => {
  const user = await account.createUser();
  const page = await account.visit("/forgot-password");
  await field(page, "E-mail").fill(user.email);
  await button(page, "Send reset link").click();
  await heading(page, "Check your mail");
  await page.goto((await account.mail(user.email)).link);
  await heading(page, "Reset your password");
  await pressOn(page, button(page, "Continue"));
  await heading(page, "Choose a password");
  await pressOn(page, button(page, "Keep current password"));
  await heading(page, "Profile");
});

test("by keyboard: details, address and password are changed", async () => {
  const { page } = await account.openSignedIn();
  await page.reload();
  await heading(page, "Profile");
  await page.keyboard.press("Tab");
  assert.ok(await hasFocus(link(page, "Skip to content")));
  await page.keyboard.press("Enter");
  assert.ok(await hasFocus(page.locator("#content")));
  await typeInto(page, field(page, "Name"), "Ann Lee");
  await page.keyboard.press("Enter");
  await waitForText(page, "Saved.");
  await pressOn(page, link(page, "Change"));
  await heading(page, "Change your e-mail");
  const { email } = newUser("new");
  await typeInto(page, field(page, "New e-mail"), email);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Confirm from the new address" }).waitFor();
  await typeInto(page, field(page, "Code from the mail"), (await account.mail(email)).otp);
  await waitForText(page, "Your e-mail address is changed.");
  await heading(page, "Profile");
  await pressOn(page, link(page, "Password"));
  await heading(page, "Change your password");
  await typeInto(page, field(page, "New password"), "battery staple");
  await page.keyboard.press("Enter");
  await waitForText(page, "Password changed.");
});

test("by keyboard: an app is set up, asked for and removed", async () => {
  const { page, user } = await account.openSignedIn("/account/security");
  await pressOn(page, link(page, "Set up an authenticator app"));
  await heading(page, "Set up an authenticator app");
  await pressOn(page, button(page, "Continue"));
  await page.getByAltText("QR code for your authenticator app").waitFor();
  const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
  assert.ok(await hasFocus(field(page, inApp)));
  await page.keyboard.type(nextTotpCode(secret));
  await heading(page, "Two-step verification is on");
  await pressOn(page, link(page, /See your second steps/));
  await heading(page, "Two-step verification");
  await pressOn(page, button(page, "Remove Authenticator app"));
  const dialog = page.getByRole("dialog");
  assert.ok(await hasFocus(button(dialog, "Cancel")));
  // The dialog traps the focus.
  for (let stops = 0; stops < 6; stops += 1) {
    await page.keyboard.press("Tab");
    const isInside = await page.evaluate(
      () =>
        !document.activeElement ||
        document.activeElement === document.body ||
        !!document.activeElement.closest("dialog"),
    );
    assert.ok(isInside, `after ${stops + 1}`);
  }
  await page.keyboard.press("Escape");

  const other = await account.visit("/sign-in");
  await signIn(other, user);
  await heading(other, "One more step");
  assert.ok(await hasFocus(field(other, inApp)));
  await other.keyboard.type(nextTotpCode(secret));
  await heading(other, "Profile");

  await pressOn(page, button(page, "Remove Authenticator app"));
  await pressOn(page, button(dialog, "Remove"));
  await waitForText(page, "You have no second step yet.");
});

test("by keyboard: devices are signed out, and the account is deleted", async () => {
  const { page, user } = await account.openSignedIn("/account/sessions");
  const other = await account.visit("/sign-in", { userAgent: "Mozilla/5.0 (X11; Linux) Firefox/130.0" });
  await signIn(other, user);
  await heading(other, "Profile");
  await page.reload();
  await pressOn(page, page.getByText("Details of Firefox on Linux"));
  await waitForText(page, "Firefox/130.0");
  await pressOn(page, button(page, "Sign out Firefox on Linux"));
  await waitForText(page, "You're only signed in here.");
  await pressOn(page, link(page, "Delete account"));
  await heading(page, "Delete your account");
  await typeInto(page, field(page, /to confirm/), user.email);
  await pressOn(page, button(page, "Delete my account"));
  await heading(page, "Your account is deleted");
});

/** Every page that can be opened by its URL. */
const guestPages = ["/sign-in", "/sign-up", "/sign-up/check-email", "/sign-in/code", "/sign-in/sso"].concat(
  ["/forgot-password", "/forgot-password/sent", "/reset-password", "/signed-out", "/goodbye"],
  ["/confirm?token_hash=abc&type=signup", "/confirm", "/callback?error=access_denied"],
);
const signedInPages = ["/account", "/account/email", "/account/password", "/account/security"].concat([
  "/account/security/totp/new",
  "/account/security/phone/new",
  "/account/identities",
  "/account/sessions",
  "/account/delete",
]);

/** Zoom is audited on every screen (`auditScreen`); these pages are also opened at that size. */
async function assertAccessible(page, path) {
  await page.goto("about:blank");
  await page.goto(account.url + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByRole("status", { name: /Loading/ }).waitFor({ state: "detached" });
  await assertLegible(page, path);
  const spoken = await page.locator("body").ariaSnapshot();
  const isUnnamed = (line) => /- (button|link|textbox|combobox|checkbox|heading|img)(?! ["/])/.test(line);
  assert.deepEqual(spoken.split("\n").filter(isUnnamed), [], path);
}

/** A window of 1280 × 800. */
const sizes = {
  "twice as large": { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
  "four times as large": { viewport: { width: 320, height: 200 }, deviceScaleFactor: 4 },
};

for (const [size, zoomed] of Object.entries(sizes))
  test(`${size}, every page can be read and used, and everything has a name`, async () => {
    const page = await account.visit("/sign-in", zoomed);
    for (const path of guestPages) await assertAccessible(page, path);
    await page.goto(`${account.url}/sign-in`);
    await signIn(page, await account.createUser());
    await heading(page, "Profile");
    for (const path of signedInPages) await assertAccessible(page, path);
    const step = await account.visit("/sign-in", zoomed);
    await signIn(step, await createUserWithTotp(account));
    await heading(step, "One more step");
    await assertAccessible(step, "/sign-in/mfa");
  });

test("pages say their language and direction, have one heading and a title of their own", async () => {
  const page = await account.visit("/sign-in");
  const titles = new Set();
  for (const path of ["/sign-in", "/sign-up", "/sign-in/code", "/sign-in/sso", "/forgot-password"]) {
    await page.goto(account.url + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1, path);
    titles.add(await page.title());
    const html = page.locator("html");
    assert.deepEqual([await html.getAttribute("lang"), await html.getAttribute("dir")], ["en", "ltr"]);
  }
  assert.equal(titles.size, 5);
});

test("fields have autocomplete values for browsers and password managers", async () => {
  const attributes = (locator) =>
    locator.evaluate(({ type, autocomplete, inputMode, maxLength }) => [
      type,
      autocomplete,
      inputMode,
      maxLength,
    ]);
  const page = await account.visit("/sign-in");
  assert.deepEqual(await attributes(field(page, "E-mail")), ["email", "username", "email", -1]);
  assert.deepEqual((await attributes(field(page, "Password"))).slice(0, 2), ["password", "current-password"]);
  await page.goto(`${account.url}/sign-up`);
  assert.deepEqual((await attributes(field(page, "Password"))).slice(0, 2), ["password", "new-password"]);
  const show = button(page, "Show password");
  assert.equal(await show.getAttribute("aria-pressed"), "false");
  await show.click();
  assert.equal(await show.getAttribute("aria-pressed"), "true");
  assert.equal((await attributes(field(page, "Password")))[0], "text");

  const user = await account.createUser();
  await page.goto(`${account.url}/sign-in/code`);
  await field(page, "E-mail").fill(user.email);
  await button(page, "Send code").click();
  const code = field(page, "Code");
  assert.deepEqual(await attributes(code), ["text", "one-time-code", "numeric", 10]);
  // Text pasted from a mail contains more than the digits.
  const { otp } = await account.mail(user.email);
  await code.evaluate(
    (input, text) => {
      const data = new DataTransfer();
      data.setData("text", text);
      input.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
      );
    },
    `Your code is ${otp.slice(0, 3)}-${otp.slice(3)}.`,
  );
  await heading(page, "Profile");
});

test("who asks too often waits as long as the server says, and sees how long", async () => {
  const { page } = await account.openSignedIn("/account/email");
  await page.clock.install();
  await field(page, "New e-mail").fill(newUser("new").email);
  await button(page, "Change e-mail").click();
  await waitForText(page, "Ignore the mail to keep your address.");
  const call = ["POST", /\/auth\/v1\/resend/];
  const release = await respondWithError(page, call, "over_email_send_rate_limit", {
    status: 429,
    headers: { "retry-after": "40" },
  });
  const resend = page.getByRole("button", { name: /^Send a new code/ });
  await resend.click();
  await page
    .getByRole("alert")
    .filter({ hasText: "Please wait 40 s before asking for another message." })
    .waitFor();
  assert.ok(await resend.isDisabled());
  assert.match(await resend.innerText(), /^Send a new code in (40|39) s$/);
  const status = page.getByRole("status").filter({ hasText: "You can ask again" });
  const heard = [await status.innerText()];
  for (const seconds of [15, 15]) {
    await page.clock.fastForward(seconds * 1000);
    await waitForText(
      page,
      new RegExp(`Send a new code in (${seconds === 15 && heard.length === 1 ? "2[3-5]" : "1?[0-9]"}) s`),
    );
    heard.push(await status.innerText());
  }
  assert.deepEqual(heard, [
    "You can ask again in 45 seconds.",
    "You can ask again in 30 seconds.",
    "You can ask again in 15 seconds.",
  ]);
  await page.clock.fastForward(15_000);
  await button(page, "Send a new code").waitFor();
  assert.ok(await resend.isEnabled());
  assert.equal(await page.getByText("Please wait").count(), 0);
  assert.equal(await release(), 1);
  await resend.click();
  await waitForText(page, "Sent.");
  await page.getByRole("button", { name: "Send a new code in 60 s" }).waitFor();
});

test("prefers-reduced-motion is respected", async () => {
  const { page } = await openSignedInWithTotp(account);
  await page.emulateMedia({ reducedMotion: "reduce" });
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")]
      .filter((element) => {
        const { transitionDuration, animationDuration, animationName } = getComputedStyle(element);
        const longest = (text) => Math.max(...text.split(",").map((part) => Number.parseFloat(part)));
        return (
          longest(transitionDuration) > 0.01 ||
          (animationName !== "none" && longest(animationDuration) > 0.01)
        );
      })
      .map((element) => element.outerHTML.slice(0, 120)),
  );
  assert.deepEqual(moving, []);
});

test("the focus is kept after a removal, an error, a message, a change", async () => {
  const { page } = await openSignedInWithTotp(account, "/account/security");
  const dialog = page.getByRole("dialog");
  const remove = ["DELETE", /\/factors\//];
  await pressOn(page, button(page, "Remove Pocket"));
  const release = await respondWithError(page, remove, "conflict", { status: 409 });
  await pressOn(page, button(dialog, "Remove"));
  await dialog.getByRole("alert").waitFor();
  assert.ok(await hasFocus(button(dialog, "Remove")), "a errorResponse in a dialog");
  await release();
  await page.keyboard.press("Enter");
  await waitForText(page, "You have no second step yet.");
  await dialog.waitFor({ state: "detached" });
  assert.ok(await hasFocus(page.getByRole("heading", { level: 1 })), "what was removed");

  await link(page, "Profile").click();
  await typeInto(page, field(page, /^Name/), "Ann Lee");
  await pressOn(page, button(page, "Save changes"));
  await waitForText(page, "Saved.");
  assert.ok(await hasFocus(button(page, "Save changes")), "what was saved");

  await page.goto(`${account.url}/account/email`);
  await typeInto(page, field(page, "New e-mail"), newUser("new").email);
  await pressOn(page, button(page, "Change e-mail"));
  const resend = page.getByRole("button", { name: /^Send a new code/ });
  await pressOn(page, resend);
  await page.getByRole("button", { name: /^Send a new code in \d+ s$/ }).waitFor();
  assert.ok(await hasFocus(resend), "another message");
});

test("the focus is kept after signing out other devices", async () => {
  const { page, user } = await account.openSignedIn();
  for (const name of ["Sign out other devices", /^Sign out .+ on .+$/]) {
    const other = await account.visit("/sign-in", { userAgent: "Mozilla/5.0 (X11; Linux) Firefox/130.0" });
    await signIn(other, user);
    await heading(other, "Profile");
    await page.goto(`${account.url}/account/sessions`);
    await page.getByRole("listitem").filter({ hasText: "Firefox" }).waitFor();
    await pressOn(page, page.getByRole("main").getByRole("button", { name }).last());
    await waitForText(page, "You're only signed in here.");
    assert.ok(await keepsFocus(page), String(name));
  }
});

test("the focus is kept while another second step is chosen", async () => {
  const user = await createUserWithTotp(account);
  const { access_token: token } = user.session;
  const added = { factor_type: "totp", friendly_name: "Tablet" };
  const { id, totp } = await account.authRequest("/factors", added, token);
  const { id: challenge_id } = await account.authRequest(`/factors/${id}/challenge`, {}, token);
  await account.authRequest(
    `/factors/${id}/verify`,
    { challenge_id, code: nextTotpCode(totp.secret) },
    token,
  );
  const page = await account.visit("/sign-in");
  await signIn(page, user);
  await pressOn(page, button(page, "Try another way"));
  const first = page.getByRole("button", { name: /^Authenticator app/ }).first();
  assert.ok(await hasFocus(first));
  await page.keyboard.press("Enter");
  assert.ok(await hasFocus(field(page, inApp)));
});
