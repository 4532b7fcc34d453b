// Password recovery by mail (client contract 5.8).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  auditScreen,
  field,
  heading,
  openAccount,
  signIn,
  waitForAlert,
  waitForText,
} from "../support/account.mjs";
import { intercept } from "../support/error-responses.mjs";

let account;
before(async () => {
  account = await openAccount({ "auth.email.max_frequency": "10m" });
});
after(() => account?.stop());

async function requestReset(page, email) {
  await page.goto(`${account.url}/forgot-password`);
  await field(page, "E-mail").fill(email);
  await page.getByRole("button", { name: "Send reset link" }).click();
  await heading(page, "Check your mail");
}

test("the link leads to a new password, which counts from then on", async () => {
  const user = await account.createUser();
  const page = await account.visit("/forgot-password");
  await heading(page, "Forgot your password?");
  await auditScreen(page, "forgot");
  await requestReset(page, user.email);
  await auditScreen(page, "forgot-sent");
  await page.goto((await account.mail(user.email)).link);
  await heading(page, "Reset your password");
  await auditScreen(page, "confirm-recovery");
  await page.getByRole("button", { name: "Continue" }).click();
  await heading(page, "Choose a password");
  await page.reload();
  await heading(page, "Choose a password");
  await auditScreen(page, "reset-password");
  await page.goto(`${account.url}/account`);
  await heading(page, "Choose a password");
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();

  await waitForText(page, "Password changed. Your other devices were signed out.");
  await heading(page, "Profile");
  const again = await account.visit("/sign-in");
  await signIn(again, { ...user, password: "battery staple" });
  await heading(again, "Profile");
});

test("the code leads there, too, and the old password may stay", async () => {
  const user = await account.createUser();
  const page = await account.visit("/forgot-password");
  await requestReset(page, user.email);
  await field(page, "Code from the mail").fill("000000");
  await waitForAlert(page, "Wrong or expired code.");
  await field(page, "Code from the mail").fill((await account.mail(user.email)).otp);
  await heading(page, "Choose a password");
  await page.getByRole("button", { name: "Keep current password" }).click();

  await heading(page, "Profile");
});

test("only the tab that used the link or the code goes on to choose a password", async () => {
  const user = await account.createUser();
  const asking = await account.visit("/forgot-password");
  await requestReset(asking, user.email);
  const { link } = await account.mail(user.email);
  const waiting = await asking.context().newPage();
  await waiting.goto(`${account.url}/sign-in`);
  await heading(waiting, "Sign in");
  const opened = await asking.context().newPage();
  await opened.goto(link);
  // The toast appears in all tabs.
  const notified = [asking, waiting].map((other) => waitForText(other, "You're signed in."));
  await opened.getByRole("button", { name: "Continue" }).click();
  await Promise.all([...notified, heading(opened, "Choose a password")]);
  for (const other of [asking, waiting]) {
    await heading(other, "Profile");
    await other.reload();
    await heading(other, "Profile");
  }
  await opened.reload();
  await heading(opened, "Choose a password");

  const typing = await account.visit("/forgot-password");
  const eve = await account.createUser("eve");
  await requestReset(typing, eve.email);
  const bystander = await typing.context().newPage();
  await bystander.goto(`${account.url}/sign-in`);
  await heading(bystander, "Sign in");
  await field(typing, "Code from the mail").fill((await account.mail(eve.email)).otp);
  await heading(typing, "Choose a password");
  await heading(bystander, "Profile");
});

test("the present password is no new one", async () => {
  const user = await account.createUser();
  const page = await account.visit("/forgot-password");
  await requestReset(page, user.email);
  await field(page, "Code from the mail").fill((await account.mail(user.email)).otp);
  await field(page, "New password").fill(user.password);
  await page.getByRole("button", { name: "Save password" }).click();

  await waitForAlert(page, "Choose a password you haven't used here.");
  await page.getByRole("button", { name: "Sign out" }).click();
  await heading(page, "You're signed out");
});

test("an unknown address looks like a known one", async () => {
  const page = await account.visit("/forgot-password");
  await requestReset(page, "nobody-at-all@mail.dev");
  await waitForText(page, "nobody-at-all@mail.dev");
});

test("asking again too soon looks the same for a known and an unknown address", async () => {
  const { email: known } = await account.createUser();
  const unknown = `nobody-${process.pid}@mail.dev`;
  const statuses = { [known]: [], [unknown]: [] };
  const screens = { [known]: [], [unknown]: [] };
  for (const email of [known, unknown]) {
    const page = await account.visit("/forgot-password");
    await page.clock.install();
    page.on("response", (response) => {
      if (/\/auth\/v1\/recover/.test(response.url())) statuses[email].push(response.status());
    });
    const assertFocusVisible = async () => {
      await page.getByRole("button", { name: /^Send a new code in (60|[2-5]\d) s$/ }).waitFor();
      const text = await page.locator("main").innerText();
      screens[email].push(text.replaceAll(email, "…").replace(/in \d+ s$/m, "in a while"));
    };
    await requestReset(page, email);
    await assertFocusVisible();
    await requestReset(page, email);
    await assertFocusVisible();
    await page.clock.fastForward(60_000);
    await page.getByRole("button", { name: "Send a new code", exact: true }).click();
    await waitForText(page, "Sent.");
    await assertFocusVisible();
    assert.equal(await page.getByRole("alert").count(), 0);
  }
  assert.deepEqual(statuses, { [known]: [200, 429, 429], [unknown]: [200, 200, 200] });
  assert.deepEqual(screens[known], screens[unknown]);
});

test("without a link there is nothing to reset", async () => {
  const page = await account.visit("/reset-password");
  await heading(page, "This page needs a reset link.");
  await auditScreen(page, "reset-without-link");
  await page.getByRole("link", { name: "Reset your password" }).click();
  await heading(page, "Forgot your password?");
});

test("an invitation leads to a first password", async () => {
  const email = `invited-${process.pid}@mail.dev`;
  const redirect = encodeURIComponent(`${account.url}/confirm`);
  const response = await fetch(`${account.url}/auth/v1/invite?redirect_to=${redirect}`, {
    method: "POST",
    headers: {
      apikey: account.plinth.keys.secret,
      authorization: `Bearer ${account.plinth.keys.secret}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ email }),
  });
  assert.equal(response.status, 200);
  const { link } = await account.mail(email);
  const page = await account.visit(new URL(link).pathname + new URL(link).search);
  await heading(page, "Accept your invitation");
  await auditScreen(page, "invitation");
  await page.getByRole("button", { name: "Accept invitation" }).click();
  await heading(page, "Choose a password");
  await field(page, "New password").fill("battery staple");
  await page.getByRole("button", { name: "Save password" }).click();

  await heading(page, "Profile");
});

test("an invitation that comes back with a code leads there, too", async () => {
  const session = await account.authRequest("/token?grant_type=password", await account.createUser());
  const page = await account.visit("about:blank");
  // The PKCE code verifier and the redirect type, as the client stores them.
  const kept = Buffer.from(JSON.stringify("verifier/invite")).toString("base64url");
  const name = "sb-localhost-auth-token-code-verifier";
  await page.context().addCookies([{ name, value: `base64-${kept}`, url: account.url }]);
  const exchanged = await intercept(page, ["POST", /\/token\?grant_type=pkce/], (route) =>
    route.fulfill({ json: session }),
  );
  await page.goto(`${account.url}/callback?code=abc`);
  await heading(page, "Choose a password");
  assert.equal(await exchanged(), 1);
  await page.reload();
  await heading(page, "Choose a password");
});
