// Sign-up and e-mail confirmation (client contract 5.2, 5.3).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser } from "../../js-clients/support/accounts.mjs";
import {
  auditScreen,
  field,
  getsTitle,
  hasFocus,
  heading,
  openAccount,
  signIn,
  waitForAlert,
  waitForText,
} from "../support/account.mjs";

let account;
before(async () => {
  account = await openAccount({
    // With auto-confirmation of e-mails or phones, the server reveals that an address is taken.
    "auth.sms.enable_confirmations": true,
    "auth.email.max_frequency": "1m",
    "auth.minimum_password_length": 8,
    "auth.password_requirements": "letters_digits",
    "plinth.account.title": "Harbour",
    "plinth.account.consent": true,
    "plinth.account.terms_url": "https://harbour.example/terms",
    "plinth.account.privacy_url": "https://harbour.example/privacy",
    "plinth.account.support_url": "https://harbour.example/help",
    "plinth.account.profile_fields": [{ key: "full_name", label: "Name", required: true, max: 80 }],
  });
});
after(() => account?.stop());

async function fill(page, { email, password }, name = "Ann Lee") {
  await field(page, "Name").fill(name);
  await field(page, "E-mail").fill(email);
  await field(page, "Password").fill(password);
  await field(page, /I agree/).check();
}
const submit = (page) => page.getByRole("button", { name: "Create account" }).click();
const ann = () => ({ ...newUser(), password: "correct horse 1" });

test("a user signs up, opens the link and is signed in", async () => {
  const user = ann();
  const page = await account.visit("/sign-up?next=%2Faccount%2Fsessions");
  await heading(page, "Create an account");
  await auditScreen(page, "sign-up");
  await fill(page, user);
  await submit(page);
  await heading(page, "Check your mail");
  await auditScreen(page, "check-email");

  await page.goto((await account.mail(user.email)).link);
  await heading(page, "Confirm your e-mail");
  assert.ok(!page.url().includes("token_hash"), page.url());
  await auditScreen(page, "confirm");
  await page.reload();
  await page.getByRole("button", { name: "Confirm e-mail" }).click();

  await heading(page, "Devices");
  const { user_metadata: metadata } = (await account.admin("GET", `/users?filter=${user.email}`)).users[0];
  assert.equal(metadata.full_name, "Ann Lee");
});

test("the code of the mail is as good as its link, and sent by itself", async () => {
  const user = ann();
  const page = await account.visit("/sign-up");
  await fill(page, user);
  await submit(page);
  await heading(page, "Check your mail");
  await page.reload();
  await waitForText(page, user.email);

  const { otp } = await account.mail(user.email);
  await field(page, "Code from the mail").fill(`${otp.slice(0, 3)} ${otp.slice(3)}`);

  await heading(page, "Profile");
  await page.getByText("Verified", { exact: true }).waitFor();
});

test("mistakes are named beside their fields, and a summary that links to these has the focus", async () => {
  const page = await account.visit("/sign-up");
  await field(page, "E-mail").fill("nonsense");
  await field(page, "Password").fill("short");
  await submit(page);

  await waitForAlert(page, "Enter a valid e-mail address.");
  await waitForAlert(page, "Use at least 8 characters.");
  await waitForAlert(page, "Name is required.");
  await waitForAlert(page, "Please agree to continue.");
  assert.ok(await hasFocus(page.getByRole("alert")));
  assert.ok(await getsTitle(page, "Error: Create an account"));
  assert.equal(await field(page, "E-mail").getAttribute("aria-invalid"), "true");
  await auditScreen(page, "sign-up-mistakes");
  await page.getByRole("alert").getByRole("link", { name: "Password" }).click();
  assert.ok(await hasFocus(field(page, "Password")));
});

test("a password that the server finds weak is rejected with its reasons", async () => {
  const page = await account.visit("/sign-up");
  await fill(page, { ...ann(), password: "only letters" });
  await submit(page);

  await waitForAlert(page, "Add the missing kinds of characters.");
  assert.ok(await getsTitle(page, "Error: Create an account"));
});

test("an address that is taken looks like any other", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-up");
  await fill(page, { ...user, password: "correct horse 1" });
  await submit(page);

  await heading(page, "Check your mail");
  await waitForText(page, user.email);
});

test("signing up twice too soon looks the same for a new and a taken address", async () => {
  const taken = { ...(await account.createUser()), password: "correct horse 1" };
  const fresh = ann();
  const statuses = { [taken.email]: [], [fresh.email]: [] };
  const screens = { [taken.email]: [], [fresh.email]: [] };
  for (const user of [taken, fresh]) {
    const page = await account.visit("/sign-up");
    page.on("response", (response) => {
      if (/\/auth\/v1\/signup/.test(response.url())) statuses[user.email].push(response.status());
    });
    for (let time = 0; time < 2; time += 1) {
      await page.goto(`${account.url}/sign-up`);
      await fill(page, user);
      await submit(page);
      await page.getByRole("button", { name: /^Send a new code in \d+ s$/ }).waitFor();
      const text = await page.locator("main").innerText();
      screens[user.email].push(text.replaceAll(user.email, "…").replace(/in \d+ s$/m, "in a while"));
    }
  }
  assert.deepEqual(statuses, { [taken.email]: [200, 200], [fresh.email]: [200, 429] });
  assert.deepEqual(screens[taken.email], screens[fresh.email]);
});

test("a wrong code and a used link say so", async () => {
  const user = ann();
  const page = await account.visit("/sign-up");
  await fill(page, user);
  await submit(page);
  await heading(page, "Check your mail");
  const { link, otp } = await account.mail(user.email);
  await field(page, "Code from the mail").fill(otp === "123456" ? "654321" : "123456");
  await waitForAlert(page, "Wrong or expired code.");

  await page.goto(link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();
  await heading(page, "Profile");
  const other = await account.visit(new URL(link).pathname + new URL(link).search);
  await other.getByRole("button", { name: "Confirm e-mail" }).click();
  await heading(other, "This link no longer works");
  await auditScreen(other, "confirm-expired");
  await field(other, "E-mail").fill(user.email);
  await other.getByRole("button", { name: "Send a new link" }).click();
  await heading(other, "Check your mail");
});

test("half a link is no link", async () => {
  const page = await account.visit("/confirm?token_hash=abc&type=constructor");
  await heading(page, "This link is incomplete");
  await page.goto("about:blank");
  await page.goto(`${account.url}/confirm?type=signup`);
  await heading(page, "This link is incomplete");
  await auditScreen(page, "confirm-malformed");
});

test("another mail can be asked for, but not at once", async () => {
  const user = ann();
  const page = await account.visit("/sign-up");
  await page.clock.install();
  await fill(page, user);
  await submit(page);
  await heading(page, "Check your mail");
  const button = page.getByRole("button", { name: /Send a new code in \d+ s/ });
  await button.waitFor();
  assert.ok(await button.isDisabled());
  await page.clock.fastForward(60_000);
  const resent = page.waitForRequest(/\/auth\/v1\/resend/);
  await page.getByRole("button", { name: "Send a new code", exact: true }).click();
  assert.equal((await resent).postDataJSON().email, user.email);

  await waitForText(page, "Sent.");
  await button.waitFor();
  assert.ok(await button.isDisabled());
});

test("without a server the form keeps what was typed, and can be sent again", async () => {
  const user = ann();
  const page = await account.visit("/sign-up");
  await heading(page, "Create an account");
  await fill(page, user);
  await page.context().setOffline(true);
  await submit(page);
  await waitForAlert(page, "We can't reach the server. Check your connection and try again.");
  assert.equal(await field(page, "E-mail").inputValue(), user.email);

  await page.context().setOffline(false);
  await page.getByRole("alert").getByRole("button", { name: "Try again" }).click();
  await heading(page, "Check your mail");
});

test("a user with a password that the current rules reject is warned, not blocked", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  await signIn(page, user);
  await heading(page, "Profile");
  await waitForText(page, "Your password is weaker than we ask for today.");
  await auditScreen(page, "weak-password");
  await page.getByRole("button", { name: "Not now" }).click();
  await page.reload();
  await heading(page, "Profile");
  assert.equal(await page.getByText("Your password is weaker").count(), 0);

  // In the same document the page may render before the response is processed.
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in again" }).click();
  for (let time = 0; time < 2; time += 1) {
    await signIn(page, user);
    await heading(page, "Profile");
    await waitForText(page, "Your password is weaker than we ask for today.");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in again" }).click();
  }
});
