// Profile, e-mail address and password (client contract 5.9, 5.10), sessions and account deletion (5.13, 5.14).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser } from "../../js-clients/support/accounts.mjs";
import {
  auditScreen,
  eventually,
  field,
  hasFocus,
  heading,
  openAccount,
  signIn,
  waitForAlert,
  waitForText,
} from "../support/account.mjs";
import { inField, intercept } from "../support/error-responses.mjs";

let account;
before(async () => {
  account = await openAccount({
    "auth.email.require_current_password": true,
    "plinth.account.profile_fields": [
      { key: "full_name", label: "Name", required: false, max: 80 },
      { key: "company", label: "Company", required: false, max: 40 },
    ],
  });
});
after(() => account?.stop());

/** Our own dialog; the browser's would be a `dialog` event. */
const leaveQuestion = (page) => page.getByRole("dialog", { name: "Leave without saving?" });

test("a name is saved, and what is not saved is not lost unasked", async () => {
  const { user, page } = await account.openSignedIn();
  await waitForText(page, "No name yet");
  await auditScreen(page, "profile");
  await field(page, "Name").fill("Ann Lee");
  await waitForText(page, "You have unsaved changes.");
  const question = leaveQuestion(page);
  await page.getByRole("link", { name: "Devices" }).click();
  await question.waitFor();
  const stay = question.getByRole("button", { name: "Stay here" });
  assert.ok(await hasFocus(stay));
  await auditScreen(page, "profile-leave");
  await stay.click();
  await question.waitFor({ state: "detached" });
  await heading(page, "Profile");
  await page.getByRole("button", { name: "Sign out" }).click();
  await question.waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  assert.equal(await field(page, "Name").inputValue(), "Ann Lee");
  await page.getByRole("button", { name: "Save changes" }).click();

  await waitForText(page, "Saved.");
  const updated = await account.admin("GET", `/users/${user.id}`);
  assert.equal(updated.user_metadata.full_name, "Ann Lee");
  await page.reload();
  await page.getByText("Ann Lee", { exact: true }).waitFor();
  assert.ok(await page.locator("time").first().getAttribute("datetime"));
});

test("a user who discards unsaved changes is signed out", async () => {
  const { page } = await account.openSignedIn();
  await field(page, "Name").fill("Ann Lee");
  await page.getByRole("button", { name: "Sign out" }).click();
  await leaveQuestion(page).getByRole("button", { name: "Leave without saving" }).click();
  await heading(page, "You're signed out");
});

test("the back button asks, too, and staying keeps everything as it was", async () => {
  const { page } = await account.openSignedIn("/account/sessions");
  await page.getByRole("link", { name: "Profile" }).click();
  await field(page, "Name").fill("Ann Lee");
  await waitForText(page, "You have unsaved changes.");
  const back = () => page.evaluate(() => history.back());
  const question = leaveQuestion(page);
  await back();
  await question.getByRole("button", { name: "Stay here" }).click();
  await question.waitFor({ state: "detached" });
  assert.equal(await field(page, "Name").inputValue(), "Ann Lee");
  assert.equal(page.url(), `${account.url}/account`);

  await back();
  await question.getByRole("button", { name: "Leave without saving" }).click();
  await heading(page, "Devices");
});

test("an id is copied over plain HTTP too, and where it cannot be the button says so", async () => {
  const { page, user } = await account.openSignedIn();
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  let copied;
  await page.exposeFunction("tellCopied", (text) => (copied = text));
  await page.evaluate(() =>
    window.addEventListener("copy", (event) =>
      globalThis.tellCopied(event.clipboardData.getData("text/plain")),
    ),
  );
  const copy = page.getByRole("button", { name: "Copy user ID" });
  await copy.click();
  await copy.getByText("Copied").waitFor();
  assert.ok(await eventually(() => copied === user.id));
  await page.evaluate(() => (document.execCommand = () => false));
  await copy.click();
  await copy.getByText("Not copied: select it").waitFor();
  await page.getByText(user.id).waitFor();
});

test("a picture that is not there leaves the initials", async () => {
  const more = { user_metadata: { full_name: "Ann Lee", avatar_url: "/pictures/ann.svg" } };
  const { page } = await account.openSignedIn("/account", more);
  await page.getByText("AL", { exact: true }).waitFor();
  assert.equal(await page.locator("main img").count(), 0);

  const body = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>';
  await page.route("**/pictures/ann.svg", (route) => route.fulfill({ contentType: "image/svg+xml", body }));
  await page.reload();
  const avatar = page.locator("main img");
  await avatar.waitFor();
  await avatar.evaluate((image) => image.decode());
  assert.equal(await page.getByText("AL", { exact: true }).count(), 0);
});

test("a change that the server never saw is taken back", async () => {
  const { page } = await account.openSignedIn();
  await field(page, "Name").fill("Ann Lee");
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Save changes" }).click();
  await waitForAlert(page, "We can't reach the server.");
  await waitForText(page, "No name yet");
  assert.equal(await field(page, "Name").inputValue(), "Ann Lee");
});

test("only what changed is sent, and the rest is shown", async () => {
  const more = { user_metadata: { full_name: "Ann Lee", company: "Harbour" } };
  const { user, page } = await account.openSignedIn("/account", more);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy user ID" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), user.id);
  const sent = [];
  await intercept(page, ["PUT", /\/auth\/v1\/user$/], (route) => {
    sent.push(route.request().postDataJSON().data);
    return route.continue();
  });
  await field(page, "Company").fill("Harbour & Sons");
  await page.getByRole("button", { name: "Save changes" }).click();
  await waitForText(page, "Saved.");
  assert.deepEqual(sent, [{ company: "Harbour & Sons" }]);
  const updated = await account.admin("GET", `/users/${user.id}`);
  assert.equal(updated.user_metadata.full_name, "Ann Lee");
});

test("what is being saved is shown at once", async () => {
  const { page } = await account.openSignedIn();
  let letGo;
  const gate = new Promise((resolve) => (letGo = resolve));
  await intercept(page, ["PUT", /\/auth\/v1\/user$/], async (route) => {
    await gate;
    await route.continue();
  });
  await field(page, "Name").fill("Ann Lee");
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Ann Lee", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Saving…" }).waitFor();
  letGo();
  await waitForText(page, "Saved.");
});

test("a mail about a new address is sent again, and its code is half of the way", async () => {
  const { page } = await account.openSignedIn("/account/email");
  const { email } = newUser("new");
  await field(page, "New e-mail").fill(email);
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await waitForText(page, "Ignore the mail to keep your address.");
  const resent = page.waitForRequest(/\/auth\/v1\/resend/);
  await page.getByRole("button", { name: "Send a new code" }).click();
  const { type, email: to } = (await resent).postDataJSON();
  assert.deepEqual([type, to], ["email_change", email]);
  await page.getByRole("button", { name: /in \d+ s/ }).waitFor();
  await field(page, "Code from the mail").fill((await account.mail(email)).otp);
  await waitForText(page, "One confirmation received. Now open the link we sent to your other address.");
  await page.getByRole("link", { name: "Back to your profile" }).click();
  await waitForText(page, `Waiting for a confirmation of ${email}.`);
});

test("a new address counts once both have confirmed it", async () => {
  const { user, page } = await account.openSignedIn("/account/email");
  const { email } = newUser("new");
  await heading(page, "Change your e-mail");
  await field(page, "New e-mail").waitFor();
  await auditScreen(page, "email");
  await field(page, "New e-mail").fill(email);
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await page.getByRole("heading", { name: "Confirm from both addresses" }).waitFor();
  await auditScreen(page, "email-pending");
  await page.goto((await account.mail(user.email)).link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();
  await heading(page, "One more step");
  await auditScreen(page, "confirm-half-done");
  await page.goto((await account.mail(email)).link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();

  await heading(page, "Profile");
  await waitForText(page, email);
});

test("an address that is taken or malformed is rejected", async () => {
  const taken = await account.createUser("taken");
  const { page } = await account.openSignedIn("/account/email");
  await field(page, "New e-mail").fill("nonsense");
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await waitForAlert(page, "Enter a valid e-mail address.");
  await field(page, "New e-mail").fill(taken.email);
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await waitForAlert(page, "That address can't be used.");
});

/** Submits a new password; the server requires the current one. */
async function askForCurrent(page) {
  await field(page, "New password").fill("battery staple");
  assert.equal(await field(page, "Current password").count(), 0);
  await page.getByRole("button", { name: "Save password" }).click();
  await inField("Current password", "Enter your current password.")(page);
}

test("a new password needs the present one, once the server says so", async () => {
  const { user, page } = await account.openSignedIn("/account/password");
  await heading(page, "Change your password");
  await auditScreen(page, "password");
  await askForCurrent(page);
  await auditScreen(page, "password-current");
  await page.getByRole("button", { name: "Save password" }).click();
  await waitForAlert(page, "Enter your current password.");
  await field(page, "Current password").fill("wrong");
  await page.getByRole("button", { name: "Save password" }).click();
  await waitForAlert(page, "Your current password is wrong.");
  await field(page, "Current password").fill(user.password);
  await field(page, "New password").fill(user.password);
  await page.getByRole("button", { name: "Save password" }).click();
  await waitForAlert(page, "Choose a password you haven't used here.");
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  await waitForText(page, "Password changed. Your other devices were signed out.");
  await page.getByRole("link", { name: "Profile" }).click();
  await heading(page, "Profile");
  await page.goBack();
  await field(page, "Current password").waitFor();

  const other = await account.visit("/sign-in");
  await signIn(other, { ...user, password: "battery staple" });
  await heading(other, "Profile");
});

test("a user who signed in by code sets a first password without a current one", async () => {
  const user = newUser("coded");
  const page = await account.visit("/sign-in/code?next=%2Faccount%2Fpassword");
  await field(page, "E-mail").fill(user.email);
  await page.getByRole("button", { name: "Send code" }).click();
  await heading(page, "Check your mail");
  await field(page, "Code").fill((await account.mail(user.email)).otp);
  await field(page, "New password").fill(user.password);
  assert.equal(await field(page, "Current password").count(), 0);
  await page.getByRole("button", { name: "Save password" }).click();
  await waitForText(page, "Password changed.");

  const other = await account.visit("/sign-in");
  await signIn(other, user);
  await heading(other, "Profile");
});

test("a new password ends links that were sent before, and other tabs are notified", async () => {
  const { user, page } = await account.openSignedIn("/account/password");
  const reset = await account.visit("/forgot-password");
  await field(reset, "E-mail").fill(user.email);
  await reset.getByRole("button", { name: "Send reset link" }).click();
  await heading(reset, "Check your mail");
  await reset.goto((await account.mail(user.email)).link);
  await heading(reset, "Reset your password");
  const tab = await page.context().newPage();
  await tab.goto(`${account.url}/account`);
  await heading(tab, "Profile");
  await tab.evaluate(() => {
    globalThis.authEvents = [];
    const name = JSON.parse(document.getElementById("plinth-account").textContent).storageKey;
    new BroadcastChannel(name).addEventListener("message", ({ data }) => authEvents.push(data.event));
  });

  await askForCurrent(page);
  await field(page, "Current password").fill(user.password);
  await page.getByRole("button", { name: "Save password" }).click();
  await waitForText(page, "Password changed.");

  assert.ok((await tab.evaluate(() => globalThis.authEvents)).includes("USER_UPDATED"));
  await reset.getByRole("button", { name: "Continue" }).click();
  await heading(reset, "This link no longer works");
  await reset.getByRole("link", { name: "Ask for a new reset link" }).click();
  await heading(reset, "Forgot your password?");
});

test("who signs in through an organisation changes the password there", async () => {
  const { page } = await account.openSignedIn();
  await intercept(page, ["GET", /\/auth\/v1\/user$/], async (route) => {
    const response = await route.fetch();
    const user = await response.json();
    const json = { ...user, app_metadata: { ...user.app_metadata, provider: "sso:company" } };
    return route.fulfill({ response, json });
  });
  await page.goto(`${account.url}/account/password`);
  await waitForText(page, "Your organisation manages this; change it there.");
  assert.equal(await field(page, "New password").count(), 0);
  await auditScreen(page, "password-sso");
});

test("devices are listed and signed out, one or all", async () => {
  const { user, page } = await account.openSignedIn("/account/sessions");
  await waitForText(page, "You're only signed in here.");
  await auditScreen(page, "sessions-one");
  const other = await account.visit("/sign-in", {
    userAgent:
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1",
  });
  await signIn(other, user);
  await heading(other, "Profile");
  await page.reload();
  const devices = page.getByRole("list", { name: "Devices" }).getByRole("listitem");
  await devices.nth(1).waitFor();
  assert.match(await devices.first().innerText(), /Chrome on Linux[\s\S]*This device/);
  assert.match(await devices.nth(1).innerText(), /Safari on iPhone/);
  await auditScreen(page, "sessions");
  await page.getByRole("button", { name: "Sign out Safari on iPhone" }).click();
  await waitForText(page, "You're only signed in here.");
  await other.goto(`${account.url}/account/sessions`);
  await heading(other, "Sign in");

  await signIn(other, user);
  await page.reload();
  await page.getByRole("button", { name: "Sign out other devices" }).click();
  await waitForText(page, "You're only signed in here.");
  await page.getByRole("button", { name: "Sign out Chrome on Linux" }).click();
  await heading(page, "Sign in");
  await waitForText(page, "This device was signed out.");
});

test("a list that cannot be had says so, and can be asked for again", async () => {
  const { page } = await account.openSignedIn();
  await page.route("**/user/sessions", (route) => route.fulfill({ status: 503, body: "{}" }));
  await page.getByRole("link", { name: "Devices" }).click();
  await waitForAlert(page, "The server took too long or had a problem. Please try again.");
  await auditScreen(page, "sessions-error");
  await page.unroute("**/user/sessions");
  await page.getByRole("button", { name: "Try again" }).click();
  await waitForText(page, "You're only signed in here.");
});

test("signing out everywhere ends this session, too", async () => {
  const { user, page } = await account.openSignedIn();
  const other = await account.visit("/sign-in");
  await signIn(other, user);
  await heading(other, "Profile");
  await page.getByRole("link", { name: "Devices" }).click();
  await page.getByRole("button", { name: "Sign out everywhere" }).click();
  await heading(page, "You're signed out");
  await other.goto(`${account.url}/account/sessions`);
  await heading(other, "Sign in");
});

test("an account is deleted after its name was typed", async () => {
  const { user, page } = await account.openSignedIn("/account/delete");
  const tab = await page.context().newPage();
  await tab.goto(`${account.url}/account`);
  await heading(page, "Delete your account");
  await auditScreen(page, "delete");
  await field(page, /to confirm/).fill("something else");
  await page.getByRole("button", { name: "Delete my account" }).click();
  await waitForAlert(page, `Type ${user.email} to confirm.`);
  await field(page, /to confirm/).fill(user.email);
  await page.getByRole("button", { name: "Delete my account" }).click();

  await heading(page, "Your account is deleted");
  await auditScreen(page, "goodbye");
  await heading(tab, "Sign in");
  const names = (await page.context().cookies()).map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => /auth-token/.test(name)),
    [],
  );
  const again = await account.visit("/sign-in");
  await signIn(again, user);
  await waitForAlert(again, "E-mail or password is wrong.");
});
