// Every form of the account pages: how somebody gets there, what they type, what is asked of the server,
// and where it leads. Tests that hold for all of them go through this list.
//
// `open` answers with the page and whatever the other members need to know; `path` is where somebody who
// is signed in finds the form at once.

import { somebody } from "../../js-clients/support/accounts.mjs";
import { field, heading, says, signIn } from "./account.mjs";
import { codeOf, lastingCodeOf, memberWithApp } from "./two-step.mjs";

const newPassword = "battery staple";

const at = (path) => async (account) => ({ page: await account.visit(path), who: await account.member() });
const within = (path) => ({ path, open: (account) => account.enter(path) });
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

/** A form was sent that leads to a code by mail. */
const sent = (path, button) => async (account) => {
  const { page, who } = await at(path)(account);
  await field(page, "E-mail").fill(who.email);
  await press(page, button);
  await heading(page, "Check your mail");
  return { page, who };
};

const calls = {
  verify: ["POST", /\/auth\/v1\/verify/],
  user: ["PUT", /\/auth\/v1\/user\b/],
  factors: ["POST", /\/auth\/v1\/factors$/],
  factorVerify: ["POST", /\/factors\/[^/]+\/verify/],
};
const codeOfMail = async ({ who, account }) => (await account.mail(who.email)).otp;

export const forms = {
  "sign in": {
    open: at("/sign-in"),
    values: ({ who }) => ({ "E-mail": who.email, Password: who.password }),
    button: "Sign in",
    busy: "Signing in…",
    call: ["POST", /\/token\?grant_type=password/],
    leads: (page) => heading(page, "Profile"),
  },
  "sign up": {
    open: async (account) => ({ page: await account.visit("/sign-up"), who: somebody() }),
    values: ({ who }) => ({ "E-mail": who.email, Password: who.password }),
    button: "Create account",
    busy: "Creating your account…",
    call: ["POST", /\/auth\/v1\/signup/],
    leads: (page) => heading(page, "Check your mail"),
  },
  "code after sign-up": {
    open: async (account) => {
      const who = somebody();
      const page = await account.visit("/sign-up");
      await field(page, "E-mail").fill(who.email);
      await field(page, "Password").fill(who.password);
      await press(page, "Create account");
      await heading(page, "Check your mail");
      return { page, who };
    },
    values: async (state) => ({ "Code from the mail": await codeOfMail(state) }),
    button: "Confirm e-mail",
    busy: "Checking…",
    call: calls.verify,
    leads: (page) => heading(page, "Profile"),
  },
  "ask for a code": {
    open: at("/sign-in/code"),
    values: ({ who }) => ({ "E-mail": who.email }),
    button: "Send code",
    busy: "Sending…",
    call: ["POST", /\/auth\/v1\/otp/],
    leads: (page) => heading(page, "Check your mail"),
  },
  "ask for a text message": {
    open: async (account) => {
      const page = await account.visit("/sign-in/code");
      await press(page, "Use my phone instead");
      return { page, who: {} };
    },
    values: () => ({ "Phone number": "+1 555 010-0001" }),
    button: "Send code",
    busy: "Sending…",
    call: ["POST", /\/auth\/v1\/otp/],
    leads: (page) => heading(page, "Check your phone"),
  },
  "sign in with a code": {
    open: sent("/sign-in/code", "Send code"),
    values: async (state) => ({ Code: await codeOfMail(state) }),
    button: "Sign in",
    busy: "Checking…",
    call: calls.verify,
    leads: (page) => heading(page, "Profile"),
  },
  "single sign-on": {
    open: at("/sign-in/sso"),
    values: ({ who }) => ({ "Work e-mail": who.email }),
    button: "Continue",
    busy: "Opening…",
    call: ["POST", /\/auth\/v1\/sso/],
    leads: (page) => says(page, "No single sign-on is set up for this domain."),
  },
  "second step": {
    open: async (account) => {
      const who = await memberWithApp(account);
      const page = await account.visit("/sign-in");
      await signIn(page, who);
      await heading(page, "One more step");
      return { page, who };
    },
    values: ({ who }) => ({ "Code from your authenticator app": codeOf(who.secret) }),
    button: "Continue",
    busy: "Checking…",
    call: calls.factorVerify,
    leads: (page) => heading(page, "Profile"),
  },
  "forgot password": {
    open: at("/forgot-password"),
    values: ({ who }) => ({ "E-mail": who.email }),
    button: "Send reset link",
    busy: "Sending…",
    call: ["POST", /\/auth\/v1\/recover/],
    leads: (page) => heading(page, "Check your mail"),
  },
  "code of a reset": {
    open: sent("/forgot-password", "Send reset link"),
    values: async (state) => ({ "Code from the mail": await codeOfMail(state) }),
    button: "Continue",
    busy: "Checking…",
    call: calls.verify,
    leads: (page) => heading(page, "Choose a password"),
  },
  "reset password": {
    open: async (account) => {
      const { page, who } = await sent("/forgot-password", "Send reset link")(account);
      await field(page, "Code from the mail").fill((await account.mail(who.email)).otp);
      await heading(page, "Choose a password");
      return { page, who };
    },
    values: () => ({ "New password": newPassword }),
    button: "Save password",
    busy: "Saving…",
    call: calls.user,
    leads: (page) => heading(page, "Profile"),
  },
  profile: {
    ...within("/account"),
    values: () => ({ "Name (optional)": "Ann Lee" }),
    button: "Save changes",
    busy: "Saving…",
    call: calls.user,
    leads: (page) => says(page, "Saved."),
  },
  "change e-mail": {
    ...within("/account/email"),
    values: () => ({ "New e-mail": somebody("new").email }),
    button: "Change e-mail",
    busy: "Sending…",
    call: calls.user,
    leads: (page) => says(page, "We sent you a mail."),
  },
  "code of a new e-mail": {
    open: async (account) => {
      const { page } = await account.enter("/account/email");
      const { email } = somebody("new");
      await field(page, "New e-mail").fill(email);
      await press(page, "Change e-mail");
      await page.getByRole("heading", { name: "Confirm from the new address" }).waitFor();
      return { page, who: { email } };
    },
    values: async (state) => ({ "Code from the mail": await codeOfMail(state) }),
    button: "Confirm",
    busy: "Checking…",
    call: calls.verify,
    leads: (page) => heading(page, "Profile"),
  },
  "change password": {
    ...within("/account/password"),
    values: () => ({ "New password": newPassword }),
    button: "Save password",
    busy: "Saving…",
    call: calls.user,
    leads: (page) => says(page, "Password changed. Your other devices were signed out."),
  },
  "name of an app": {
    ...within("/account/security/totp/new"),
    values: () => ({ Name: "Pocket" }),
    button: "Continue",
    busy: "Preparing…",
    call: calls.factors,
    leads: (page) => page.getByAltText("QR code for your authenticator app").waitFor(),
  },
  "first code of an app": {
    open: async (account) => {
      const { page, who } = await account.enter("/account/security/totp/new");
      await press(page, "Continue");
      await page.getByAltText("QR code for your authenticator app").waitFor();
      const secret = (await page.locator("code").innerText()).replaceAll(" ", "");
      return { page, who: { ...who, secret } };
    },
    values: ({ who }) => ({ "Code from your authenticator app": lastingCodeOf(who.secret) }),
    button: "Turn on",
    busy: "Checking…",
    call: calls.factorVerify,
    leads: (page) => heading(page, "Two-step verification is on"),
  },
  "new phone": {
    ...within("/account/security/phone/new"),
    values: () => ({ "Phone number": "+1 555 010-0002" }),
    button: "Send code",
    busy: "Sending…",
    call: calls.factors,
    leads: (page) => field(page, "Code from the text message").waitFor(),
  },
  "delete account": {
    ...within("/account/delete"),
    values: ({ who }) => ({ [`Type ${who.email} to confirm`]: who.email }),
    button: "Delete my account",
    busy: "Deleting…",
    call: ["DELETE", /\/auth\/v1\/user$/],
    leads: (page) => heading(page, "Your account is deleted"),
  },
};

/** What the forms need to be there. Numbers have fixed codes, so nothing is sent. */
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

/** Opens a form and says what belongs into it. */
export async function openForm(account, name) {
  const form = forms[name];
  const state = { account, ...(await form.open(account)) };
  const values = await form.values(state);
  const { page } = state;
  const button = page.getByRole("button", { name: form.button, exact: true });
  await button.waitFor();
  /** Types everything, and sends it. Codes are sent by themselves, each once until it was deleted. */
  const send = async () => {
    for (const [label, value] of Object.entries(values)) {
      await field(page, label).fill("");
      await field(page, label).fill(value);
    }
    if (!isCode(values)) await button.click();
  };
  return { ...form, ...state, values, submit: button, send };
}
