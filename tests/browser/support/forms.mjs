// Every form of the account pages: how to open it, what to type, which request it sends, and what follows.
// Tests that apply to all forms iterate over this list.
//
// `open` returns the page and the state that the other members need; `path` is set for forms that a
// signed-in user can open directly.

import { newUser } from "../../js-clients/support/accounts.mjs";
import { field, heading, signIn, waitForText } from "./account.mjs";
import { createUserWithTotp, freshTotpCode, nextTotpCode } from "./totp.mjs";

const newPassword = "battery staple";

const openAsGuest = (path) => async (account) => ({
  page: await account.visit(path),
  user: await account.createUser(),
});
const openSignedIn = (path) => ({ path, open: (account) => account.openSignedIn(path) });
const clickButton = (page, name) => page.getByRole("button", { name, exact: true }).click();

/** Submits a form that sends a code by mail. */
const openAfterSending = (path, button) => async (account) => {
  const { page, user } = await openAsGuest(path)(account);
  await field(page, "E-mail").fill(user.email);
  await clickButton(page, button);
  await heading(page, "Check your mail");
  return { page, user };
};

const calls = {
  verify: ["POST", /\/auth\/v1\/verify/],
  user: ["PUT", /\/auth\/v1\/user\b/],
  factors: ["POST", /\/auth\/v1\/factors$/],
  factorVerify: ["POST", /\/factors\/[^/]+\/verify/],
};
const codeFromMail = async ({ user, account }) => (await account.mail(user.email)).otp;

export const forms = {
  "sign in": {
    open: openAsGuest("/sign-in"),
    values: ({ user }) => ({ "E-mail": user.email, Password: user.password }),
    button: "Sign in",
    busyLabel: "Signing in…",
    call: ["POST", /\/token\?grant_type=password/],
    expectNext: (page) => heading(page, "Profile"),
  },
  "sign up": {
    open: async (account) => ({ page: await account.visit("/sign-up"), user: newUser() }),
    values: ({ user }) => ({ "E-mail": user.email, Password: user.password }),
    button: "Create account",
    busyLabel: "Creating your account…",
    call: ["POST", /\/auth\/v1\/signup/],
    expectNext: (page) => heading(page, "Check your mail"),
  },
  "code after sign-up": {
    open: async (account) => {
      const user = newUser();
      const page = await account.visit("/sign-up");
      await field(page, "E-mail").fill(user.email);
      await field(page, "Password").fill(user.password);
      await clickButton(page, "Create account");
      await heading(page, "Check your mail");
      return { page, user };
    },
    values: async (state) => ({ "Code from the mail": await codeFromMail(state) }),
    button: "Confirm e-mail",
    busyLabel: "Checking…",
    call: calls.verify,
    expectNext: (page) => heading(page, "Profile"),
  },
  "ask for a code": {
    open: openAsGuest("/sign-in/code"),
    values: ({ user }) => ({ "E-mail": user.email }),
    button: "Send code",
    busyLabel: "Sending…",
    call: ["POST", /\/auth\/v1\/otp/],
    expectNext: (page) => heading(page, "Check your mail"),
  },
  "ask for a text message": {
    open: async (account) => {
      const page = await account.visit("/sign-in/code");
      await clickButton(page, "Use my phone instead");
      return { page, user: {} };
    },
    values: () => ({ "Phone number": "+1 555 010-0001" }),
    button: "Send code",
    busyLabel: "Sending…",
    call: ["POST", /\/auth\/v1\/otp/],
    expectNext: (page) => heading(page, "Check your phone"),
  },
  "sign in with a code": {
    open: openAfterSending("/sign-in/code", "Send code"),
    values: async (state) => ({ Code: await codeFromMail(state) }),
    button: "Sign in",
    busyLabel: "Checking…",
    call: calls.verify,
    expectNext: (page) => heading(page, "Profile"),
  },
  "single sign-on": {
    open: openAsGuest("/sign-in/sso"),
    values: ({ user }) => ({ "Work e-mail": user.email }),
    button: "Continue",
    busyLabel: "Opening…",
    call: ["POST", /\/auth\/v1\/sso/],
    expectNext: (page) => waitForText(page, "No single sign-on is set up for this domain."),
  },
  "second step": {
    open: async (account) => {
      const user = await createUserWithTotp(account);
      const page = await account.visit("/sign-in");
      await signIn(page, user);
      await heading(page, "One more step");
      return { page, user };
    },
    values: ({ user }) => ({ "Code from your authenticator app": nextTotpCode(user.secret) }),
    button: "Continue",
    busyLabel: "Checking…",
    call: calls.factorVerify,
    expectNext: (page) => heading(page, "Profile"),
  },
  "forgot password": {
    open: openAsGuest("/forgot-password"),
    values: ({ user }) => ({ "E-mail": user.email }),
    button: "Send reset link",
    busyLabel: "Sending…",
    call: ["POST", /\/auth\/v1\/recover/],
    expectNext: (page) => heading(page, "Check your mail"),
  },
  "code of a reset": {
    open: openAfterSending("/forgot-password", "Send reset link"),
    values: async (state) => ({ "Code from the mail": await codeFromMail(state) }),
    button: "Continue",
    busyLabel: "Checking…",
    call: calls.verify,
    expectNext: (page) => heading(page, "Choose a password"),
  },
  "reset password": {
    open: async (account) => {
      const { page, user } = await openAfterSending("/forgot-password", "Send reset link")(account);
      await field(page, "Code from the mail").fill((await account.mail(user.email)).otp);
      await heading(page, "Choose a password");
      return { page, user };
    },
    values: () => ({ "New password": newPassword }),
    button: "Save password",
    busyLabel: "Saving…",
    call: calls.user,
    expectNext: (page) => heading(page, "Profile"),
  },
  profile: {
    ...openSignedIn("/account"),
    values: () => ({ "Name (optional)": "Ann Lee" }),
    button: "Save changes",
    busyLabel: "Saving…",
    call: calls.user,
    expectNext: (page) => waitForText(page, "Saved."),
  },
  "change e-mail": {
    ...openSignedIn("/account/email"),
    values: () => ({ "New e-mail": newUser("new").email }),
    button: "Change e-mail",
    busyLabel: "Sending…",
    call: calls.user,
    expectNext: (page) => waitForText(page, "We sent you a mail."),
  },
  "code of a new e-mail": {
    open: async (account) => {
      const { page } = await account.openSignedIn("/account/email");
      const { email } = newUser("new");
      await field(page, "New e-mail").fill(email);
      await clickButton(page, "Change e-mail");
      await page.getByRole("heading", { name: "Confirm from the new address" }).waitFor();
      return { page, user: { email } };
    },
    values: async (state) => ({ "Code from the mail": await codeFromMail(state) }),
    button: "Confirm",
    busyLabel: "Checking…",
    call: calls.verify,
    expectNext: (page) => heading(page, "Profile"),
  },
  "change password": {
    ...openSignedIn("/account/password"),
    values: () => ({ "New password": newPassword }),
    button: "Save password",
    busyLabel: "Saving…",
    call: calls.user,
    expectNext: (page) => waitForText(page, "Password changed. Your other devices were signed out."),
  },
  "name of an app": {
    ...openSignedIn("/account/security/totp/new"),
    values: () => ({ Name: "Pocket" }),
    button: "Continue",
    busyLabel: "Preparing…",
    call: calls.factors,
    expectNext: (page) => page.getByAltText("QR code for your authenticator app").waitFor(),
  },
  "first code of an app": {
    open: async (account) => {
      const { page, user } = await account.openSignedIn("/account/security/totp/new");
      await clickButton(page, "Continue");
      await page.getByAltText("QR code for your authenticator app").waitFor();
      const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
      return { page, user: { ...user, secret } };
    },
    values: ({ user }) => ({ "Code from your authenticator app": freshTotpCode(user.secret) }),
    button: "Turn on",
    busyLabel: "Checking…",
    call: calls.factorVerify,
    expectNext: (page) => heading(page, "Two-step verification is on"),
  },
  "new phone": {
    ...openSignedIn("/account/security/phone/new"),
    values: () => ({ "Phone number": "+1 555 010-0002" }),
    button: "Send code",
    busyLabel: "Sending…",
    call: calls.factors,
    expectNext: (page) => field(page, "Code from the text message").waitFor(),
  },
  "delete account": {
    ...openSignedIn("/account/delete"),
    values: ({ user }) => ({ [`Type ${user.email} to confirm`]: user.email }),
    button: "Delete my account",
    busyLabel: "Deleting…",
    call: ["DELETE", /\/auth\/v1\/user$/],
    expectNext: (page) => heading(page, "Your account is deleted"),
  },
};

/** Settings that enable all forms. The phone numbers have fixed codes, so no messages are sent. */
export const formSettings = {
  "auth.sms.enable_signup": true,
  "auth.sms.enable_confirmations": true,
  'auth.sms.test_otp."15550100001"': "123456",
  'auth.sms.test_otp."15550100002"': "123456",
  "auth.mfa.phone.enroll_enabled": true,
  "auth.mfa.phone.verify_enabled": true,
  "auth.email.double_confirm_changes": false,
};

const isCode = (values) => Object.keys(values)[0].startsWith("Code");

/** Opens a form, and returns its valid values. */
export async function openForm(account, name) {
  const form = forms[name];
  const state = { account, ...(await form.open(account)) };
  const values = await form.values(state);
  const { page } = state;
  const button = page.getByRole("button", { name: form.button, exact: true });
  await button.waitFor();
  /** Fills in the form and submits it. Code fields submit automatically, once per entered code. */
  const send = async () => {
    for (const [label, value] of Object.entries(values)) {
      await field(page, label).fill("");
      await field(page, label).fill(value);
    }
    if (!isCode(values)) await button.click();
  };
  return { ...form, ...state, values, submit: button, send };
}
