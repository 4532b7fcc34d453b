// One's own details, address and password (client contract 5.9, 5.10), devices and the end (5.13, 5.14).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { somebody } from "../../js-clients/support/accounts.mjs";
import { alerts, field, heading, look, openAccount, says, signIn, soon } from "../support/account.mjs";
import { inField, intercept } from "../support/refusals.mjs";

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

test("a name is saved, and what is not saved is not lost unasked", async () => {
  const { who, page } = await account.enter();
  await says(page, "No name yet");
  await look(page, "profile");
  await field(page, "Name").fill("Ann Lee");
  await says(page, "You have unsaved changes.");
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("link", { name: "Devices" }).click();
  await heading(page, "Profile");
  const asked = [];
  page.once("dialog", (dialog) => {
    asked.push(dialog.message());
    return dialog.dismiss();
  });
  await page.getByRole("button", { name: "Sign out" }).click();
  assert.deepEqual(asked, ["You have unsaved changes. Leave without saving them?"]);
  assert.equal(await field(page, "Name").inputValue(), "Ann Lee");
  await page.getByRole("button", { name: "Save changes" }).click();

  await says(page, "Saved.");
  const user = await account.admin("GET", `/users/${who.id}`);
  assert.equal(user.user_metadata.full_name, "Ann Lee");
  await page.reload();
  await page.getByText("Ann Lee", { exact: true }).waitFor();
  assert.ok(await page.locator("time").first().getAttribute("datetime"));
});

test("whoever does not want their changes is signed out without them", async () => {
  const { page } = await account.enter();
  await field(page, "Name").fill("Ann Lee");
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Sign out" }).click();
  await heading(page, "You're signed out");
});

test("the button for back asks, too, and leaves everything as it was for whoever stays", async () => {
  const { page } = await account.enter("/account/sessions");
  await page.getByRole("link", { name: "Profile" }).click();
  await field(page, "Name").fill("Ann Lee");
  await says(page, "You have unsaved changes.");
  const back = () => page.evaluate(() => history.back());
  const asked = [];
  page.once("dialog", (dialog) => {
    asked.push(dialog.message());
    return dialog.dismiss();
  });
  await back();
  assert.ok(await soon(() => asked.length === 1));
  assert.equal(await field(page, "Name").inputValue(), "Ann Lee");
  assert.equal(page.url(), `${account.url}/account`);

  page.once("dialog", (dialog) => dialog.accept());
  await back();
  await heading(page, "Devices");
});

test("an id is copied over plain HTTP too, and where it cannot be the button says so", async () => {
  const { page, who } = await account.enter();
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
  assert.ok(await soon(() => copied === who.id));
  await page.evaluate(() => (document.execCommand = () => false));
  await copy.click();
  await copy.getByText("Not copied: select it").waitFor();
  await page.getByText(who.id).waitFor();
});

test("a picture that is not there leaves the initials", async () => {
  const more = { user_metadata: { full_name: "Ann Lee", avatar_url: "/pictures/ann.svg" } };
  const { page } = await account.enter("/account", more);
  await page.getByText("AL", { exact: true }).waitFor();
  assert.equal(await page.locator("main img").count(), 0);

  const body = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>';
  await page.route("**/pictures/ann.svg", (route) => route.fulfill({ contentType: "image/svg+xml", body }));
  await page.reload();
  const picture = page.locator("main img");
  await picture.waitFor();
  await picture.evaluate((image) => image.decode());
  assert.equal(await page.getByText("AL", { exact: true }).count(), 0);
});

test("a change that the server never saw is taken back", async () => {
  const { page } = await account.enter();
  await field(page, "Name").fill("Ann Lee");
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Save changes" }).click();
  await alerts(page, "We can't reach the server.");
  await says(page, "No name yet");
  assert.equal(await field(page, "Name").inputValue(), "Ann Lee");
});

test("only what changed is sent, and the rest is shown", async () => {
  const more = { user_metadata: { full_name: "Ann Lee", company: "Harbour" } };
  const { who, page } = await account.enter("/account", more);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await says(page, "Verified");
  await page.getByRole("button", { name: "Copy user ID" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), who.id);
  const sent = [];
  await intercept(page, ["PUT", /\/auth\/v1\/user$/], (route) => {
    sent.push(route.request().postDataJSON().data);
    return route.continue();
  });
  await field(page, "Company").fill("Harbour & Sons");
  await page.getByRole("button", { name: "Save changes" }).click();
  await says(page, "Saved.");
  assert.deepEqual(sent, [{ company: "Harbour & Sons" }]);
  const user = await account.admin("GET", `/users/${who.id}`);
  assert.equal(user.user_metadata.full_name, "Ann Lee");
});

test("what is being saved is shown at once", async () => {
  const { page } = await account.enter();
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
  await says(page, "Saved.");
});

test("a mail about a new address is sent again, and its code is half of the way", async () => {
  const { page } = await account.enter("/account/email");
  const { email } = somebody("new");
  await field(page, "New e-mail").fill(email);
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await says(page, "Ignore the mail to keep your address.");
  const resent = page.waitForRequest(/\/auth\/v1\/resend/);
  await page.getByRole("button", { name: "Send a new code" }).click();
  const { type, email: to } = (await resent).postDataJSON();
  assert.deepEqual([type, to], ["email_change", email]);
  await page.getByRole("button", { name: /in \d+ s/ }).waitFor();
  await field(page, "Code from the mail").fill((await account.mail(email)).otp);
  await says(page, "One confirmation received. Now open the link we sent to your other address.");
  await page.getByRole("link", { name: "Back to your profile" }).click();
  await says(page, `Waiting for a confirmation of ${email}.`);
});

test("a new address counts once both have confirmed it", async () => {
  const { who, page } = await account.enter("/account/email");
  const { email } = somebody("new");
  await heading(page, "Change your e-mail");
  await field(page, "New e-mail").waitFor();
  await look(page, "email");
  await field(page, "New e-mail").fill(email);
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await page.getByRole("heading", { name: "Confirm from both addresses" }).waitFor();
  await look(page, "email-pending");
  await page.goto((await account.mail(who.email)).link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();
  await heading(page, "One more step");
  await look(page, "confirm-half-done");
  await page.goto((await account.mail(email)).link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();

  await heading(page, "Profile");
  await says(page, email);
});

test("an address that is taken or malformed is refused", async () => {
  const taken = await account.member("taken");
  const { page } = await account.enter("/account/email");
  await field(page, "New e-mail").fill("nonsense");
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await alerts(page, "Enter a valid e-mail address.");
  await field(page, "New e-mail").fill(taken.email);
  await page.getByRole("button", { name: "Change e-mail" }).click();
  await alerts(page, "That address can't be used.");
});

/** Asks for a new password; the server wants to know the present one. */
async function askForCurrent(page) {
  await field(page, "New password").fill("battery staple");
  assert.equal(await field(page, "Current password").count(), 0);
  await page.getByRole("button", { name: "Save password" }).click();
  await inField("Current password", "Enter your current password.")(page);
}

test("a new password needs the present one, once the server says so", async () => {
  const { who, page } = await account.enter("/account/password");
  await heading(page, "Change your password");
  await look(page, "password");
  await askForCurrent(page);
  await look(page, "password-current");
  await page.getByRole("button", { name: "Save password" }).click();
  await alerts(page, "Enter your current password.");
  await field(page, "Current password").fill("wrong");
  await page.getByRole("button", { name: "Save password" }).click();
  await alerts(page, "Your current password is wrong.");
  await field(page, "Current password").fill(who.password);
  await field(page, "New password").fill(who.password);
  await page.getByRole("button", { name: "Save password" }).click();
  await alerts(page, "Choose a password you haven't used here.");
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();
  await says(page, "Password changed. Your other devices were signed out.");
  await page.getByRole("link", { name: "Profile" }).click();
  await heading(page, "Profile");
  await page.goBack();
  await field(page, "Current password").waitFor();

  const other = await account.visit("/sign-in");
  await signIn(other, { ...who, password: "battery staple" });
  await heading(other, "Profile");
});

test("whoever signs in by code sets a first password without another", async () => {
  const who = somebody("coded");
  const page = await account.visit("/sign-in/code?next=%2Faccount%2Fpassword");
  await field(page, "E-mail").fill(who.email);
  await page.getByRole("button", { name: "Send code" }).click();
  await heading(page, "Check your mail");
  await field(page, "Code").fill((await account.mail(who.email)).otp);
  await field(page, "New password").fill(who.password);
  assert.equal(await field(page, "Current password").count(), 0);
  await page.getByRole("button", { name: "Save password" }).click();
  await says(page, "Password changed.");

  const other = await account.visit("/sign-in");
  await signIn(other, who);
  await heading(other, "Profile");
});

test("a new password ends links that were sent before, and other tabs hear of it", async () => {
  const { who, page } = await account.enter("/account/password");
  const reset = await account.visit("/forgot-password");
  await field(reset, "E-mail").fill(who.email);
  await reset.getByRole("button", { name: "Send reset link" }).click();
  await heading(reset, "Check your mail");
  await reset.goto((await account.mail(who.email)).link);
  await heading(reset, "Reset your password");
  const tab = await page.context().newPage();
  await tab.goto(`${account.url}/account`);
  await heading(tab, "Profile");
  await tab.evaluate(() => {
    globalThis.heard = [];
    const name = JSON.parse(document.getElementById("plinth-account").textContent).storageKey;
    new BroadcastChannel(name).addEventListener("message", ({ data }) => heard.push(data.event));
  });

  await askForCurrent(page);
  await field(page, "Current password").fill(who.password);
  await page.getByRole("button", { name: "Save password" }).click();
  await says(page, "Password changed.");

  assert.ok((await tab.evaluate(() => globalThis.heard)).includes("USER_UPDATED"));
  await reset.getByRole("button", { name: "Continue" }).click();
  await heading(reset, "This link no longer works");
  await reset.getByRole("link", { name: "Ask for a new reset link" }).click();
  await heading(reset, "Forgot your password?");
});

test("who signs in through an organisation changes the password there", async () => {
  const { page } = await account.enter();
  await intercept(page, ["GET", /\/auth\/v1\/user$/], async (route) => {
    const response = await route.fetch();
    const user = await response.json();
    const json = { ...user, app_metadata: { ...user.app_metadata, provider: "sso:company" } };
    return route.fulfill({ response, json });
  });
  await page.goto(`${account.url}/account/password`);
  await says(page, "Your organisation manages this; change it there.");
  assert.equal(await field(page, "New password").count(), 0);
  await look(page, "password-sso");
});

test("devices are listed and signed out, one or all", async () => {
  const { who, page } = await account.enter("/account/sessions");
  await says(page, "You're only signed in here.");
  await look(page, "sessions-one");
  const other = await account.visit("/sign-in", {
    userAgent:
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1",
  });
  await signIn(other, who);
  await heading(other, "Profile");
  await page.reload();
  const devices = page.getByRole("list", { name: "Devices" }).getByRole("listitem");
  await devices.nth(1).waitFor();
  assert.match(await devices.first().innerText(), /Chrome on Linux[\s\S]*This device/);
  assert.match(await devices.nth(1).innerText(), /Safari on iPhone/);
  await look(page, "sessions");
  await page.getByRole("button", { name: "Sign out Safari on iPhone" }).click();
  await says(page, "You're only signed in here.");
  await other.goto(`${account.url}/account/sessions`);
  await heading(other, "Sign in");

  await signIn(other, who);
  await page.reload();
  await page.getByRole("button", { name: "Sign out other devices" }).click();
  await says(page, "You're only signed in here.");
  await page.getByRole("button", { name: "Sign out Chrome on Linux" }).click();
  await heading(page, "Sign in");
  await says(page, "This device was signed out.");
});

test("a list that cannot be had says so, and can be asked for again", async () => {
  const { page } = await account.enter();
  await page.route("**/user/sessions", (route) => route.fulfill({ status: 503, body: "{}" }));
  await page.getByRole("link", { name: "Devices" }).click();
  await alerts(page, "The server took too long or had a problem. Please try again.");
  await look(page, "sessions-error");
  await page.unroute("**/user/sessions");
  await page.getByRole("button", { name: "Try again" }).click();
  await says(page, "You're only signed in here.");
});

test("signing out everywhere ends this session, too", async () => {
  const { who, page } = await account.enter();
  const other = await account.visit("/sign-in");
  await signIn(other, who);
  await heading(other, "Profile");
  await page.getByRole("link", { name: "Devices" }).click();
  await page.getByRole("button", { name: "Sign out everywhere" }).click();
  await heading(page, "You're signed out");
  await other.goto(`${account.url}/account/sessions`);
  await heading(other, "Sign in");
});

test("an account is deleted by whoever types its name", async () => {
  const { who, page } = await account.enter("/account/delete");
  const tab = await page.context().newPage();
  await tab.goto(`${account.url}/account`);
  await heading(page, "Delete your account");
  await look(page, "delete");
  await field(page, /to confirm/).fill("something else");
  await page.getByRole("button", { name: "Delete my account" }).click();
  await alerts(page, `Type ${who.email} to confirm.`);
  await field(page, /to confirm/).fill(who.email);
  await page.getByRole("button", { name: "Delete my account" }).click();

  await heading(page, "Your account is deleted");
  await look(page, "goodbye");
  await heading(tab, "Sign in");
  const names = (await page.context().cookies()).map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => /auth-token/.test(name)),
    [],
  );
  const again = await account.visit("/sign-in");
  await signIn(again, who);
  await alerts(again, "E-mail or password is wrong.");
});
