// Sign-in by phone and SSO, and anonymous users (client contract 5.2, 5.5, 5.6, 5.11). The phone numbers have
// fixed codes, so no messages are sent.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser } from "../../js-clients/support/accounts.mjs";
import { auditScreen, field, heading, openAccount, waitForAlert, waitForText } from "../support/account.mjs";
import { intercept } from "../support/error-responses.mjs";

const code = "123456";
const [byCode, asFactor] = ["15550100001", "15550100002"];

let account;
before(async () => {
  account = await openAccount({
    "auth.sms.enable_signup": true,
    "auth.sms.enable_confirmations": true,
    [`auth.sms.test_otp."${byCode}"`]: code,
    [`auth.sms.test_otp."${asFactor}"`]: code,
    "auth.mfa.phone.enroll_enabled": true,
    "auth.mfa.phone.verify_enabled": true,
    "auth.enable_anonymous_sign_ins": true,
  });
});
after(() => account?.stop());

test("a phone is enough to sign in", async () => {
  const page = await account.visit("/sign-in/code");
  await page.getByRole("button", { name: "Use my phone instead" }).click();
  await auditScreen(page, "code-phone");
  await field(page, "Phone number").fill("0170 1234567");
  await page.getByRole("button", { name: "Send code" }).click();
  await waitForAlert(page, "Enter a number such as +49 170 1234567.");
  await page.getByLabel("Country").selectOption("US");
  await field(page, "Phone number").fill("+1 555 010-0001");
  await page.getByRole("button", { name: "Send code" }).click();
  await heading(page, "Check your phone");
  await field(page, "Code").fill("654321");
  await waitForAlert(page, "Wrong or expired code.");
  await field(page, "Code").fill(code);

  await heading(page, "Profile");
  await waitForText(page, `+${byCode}`);
});

test("a number that cannot be reached says so", async () => {
  const page = await account.visit("/sign-in/code");
  await page.getByRole("button", { name: "Use my phone instead" }).click();
  await field(page, "Phone number").fill("+1 555 010-0009");
  await page.getByRole("button", { name: "Send code" }).click();
  await page.locator('[role="alert"], [id$="-error"]').first().waitFor();
  await heading(page, "Sign in with a code");
});

test("an unknown organisation gets an error", async () => {
  const page = await account.visit("/sign-in/sso");
  await heading(page, "Single sign-on");
  await auditScreen(page, "sso");
  await field(page, "Work e-mail").fill("ann@company.test");
  await page.getByRole("button", { name: "Continue" }).click();
  await waitForAlert(page, "No single sign-on is set up for this domain.");
});

test("members of an organisation are sent there, once, and the form is busy until they are gone", async () => {
  const page = await account.visit("/sign-in/sso");
  const there = "https://idp.company.test/login?SAMLRequest=abc";
  const arrived = await intercept(page, ["GET", /^https:\/\/idp\.company\.test/], async (route) => {
    // The identity provider is slow: the response has arrived, but the page is still there.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.fulfill({ contentType: "text/html", body: "<h1>The company</h1>" });
  });
  let sent;
  const asked = await intercept(page, ["POST", /\/auth\/v1\/sso$/], (route) => {
    sent = route.request().postDataJSON();
    return route.fulfill({ json: { url: there } });
  });
  await field(page, "Work e-mail").fill("ann@company.test");
  // A second click, and the state of the button just before the page is left.
  await page.evaluate(() => {
    const form = document.querySelector("form");
    form.addEventListener("submit", () => setInterval(() => form.requestSubmit(), 50), { once: true });
    addEventListener("pagehide", () => {
      const { textContent, ariaBusy, ariaDisabled } = form.querySelector("button[type=submit]");
      localStorage.setItem("last seen", JSON.stringify([textContent, ariaBusy, ariaDisabled]));
    });
  });
  await page.getByRole("button", { name: "Continue" }).click({ noWaitAfter: true });

  await heading(page, "The company");
  assert.equal(page.url(), there);
  assert.equal(sent.domain, "company.test");
  assert.deepEqual([await asked(), await arrived()], [1, 1]);
  await page.goto(`${account.url}/sign-in`);
  const last = await page.evaluate(() => JSON.parse(localStorage.getItem("last seen")));
  assert.deepEqual(last, ["Opening…", "true", "true"]);
});

/** An anonymous user of the application. */
async function openAnonymous(path = "/sign-up") {
  const session = await account.authRequest("/signup", {});
  return { page: await account.openWithSession(session, path), id: session.user.id };
}

const confirmations = {
  code: (page, { otp }) => field(page, "Code from the mail").fill(otp),
  link: async (page, { link }) => {
    await page.goto(link);
    await page.getByRole("button", { name: "Confirm e-mail" }).click();
  },
};

/** Values of `next`: a page of the application, an account page, or none. */
const ways = ["/auth/v1/health", "/account/sessions", null];

for (const [by, confirm] of Object.entries(confirmations)) {
  for (const next of ways) {
    test(`an anonymous user keeps the account by adding a name: by ${by}, next ${next}`, async () => {
      const { page, id } = await openAnonymous(
        next ? `/sign-up?next=${encodeURIComponent(next)}` : "/sign-up",
      );
      const user = newUser("named");
      await heading(page, "Keep your account");
      if (by === "code" && !next) await auditScreen(page, "keep-account");
      await field(page, "E-mail").fill(user.email);
      await page.getByRole("button", { name: "Continue" }).click();
      await heading(page, "Check your mail");
      await confirm(page, await account.mail(user.email));

      await heading(page, "Set a password");
      const upgraded = await account.admin("GET", `/users/${id}`);
      assert.deepEqual([upgraded.email, upgraded.is_anonymous], [user.email, false]);
      await field(page, "New password").fill(user.password);
      await page.getByRole("button", { name: "Save password" }).click();
      if (next) await page.waitForURL(account.url + next);
      else await waitForText(page, "Password changed.");
      await account.authRequest("/token?grant_type=password", user);
    });
  }
}

test("a first password can wait for those who are on their way", async () => {
  const { page } = await openAnonymous("/sign-up?next=%2Faccount%2Fsessions");
  const { email } = newUser("named");
  await field(page, "E-mail").fill(email);
  await page.getByRole("button", { name: "Continue" }).click();
  await heading(page, "Check your mail");
  await field(page, "Code from the mail").fill((await account.mail(email)).otp);
  await heading(page, "Set a password");
  await auditScreen(page, "first-password");
  await page.getByRole("button", { name: "Not now" }).click();
  await heading(page, "Devices");
});
