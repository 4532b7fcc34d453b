// Lost connections, double submits and reloads (client contract U3).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser } from "../../js-clients/support/accounts.mjs";
import { field, heading, openAccount, signIn, waitForAlert, waitForText } from "../support/account.mjs";
import { forms, formSettings, openForm } from "../support/forms.mjs";
import { intercept, respondWithError } from "../support/error-responses.mjs";
import { createUserWithTotp, nextTotpCode } from "../support/totp.mjs";

let account;
before(async () => {
  account = await openAccount(formSettings);
});
after(() => account?.stop());

const offline = "We can't reach the server. Check your connection and try again.";

/** Delays requests until the test releases them; `count` is their number. */
async function holdRequests(page, call) {
  let letGo;
  const gate = new Promise((resolve) => (letGo = resolve));
  const count = await intercept(page, call, async (route) => {
    await gate;
    await route.continue();
  });
  return { letGo, count };
}

for (const name of Object.keys(forms)) {
  test(`${name}: kept without a connection, sent once when it is back`, async () => {
    const { page, call, busyLabel, values, send, expectNext } = await openForm(account, name);
    await page.context().setOffline(true);
    await send();
    await waitForAlert(page, offline);
    for (const [label, value] of Object.entries(values)) {
      assert.equal(await field(page, label).inputValue(), value, label);
    }

    await page.context().setOffline(false);
    const held = await holdRequests(page, call);
    const label = Object.keys(values)[0];
    await page.getByRole("alert").getByRole("button", { name: "Try again" }).click();
    const button = page.getByRole("button", { name: busyLabel, exact: true });
    await button.waitFor();
    assert.ok(await button.isDisabled());
    assert.equal(await button.getAttribute("aria-busy"), "true");
    await field(page, label).press("Enter");
    await field(page, label).press("Enter");
    await button.dispatchEvent("click");
    held.letGo();
    await expectNext(page);
    assert.equal(await held.count(), 1);
  });
}

test("a link waits for the connection, and is used once", async () => {
  const user = newUser();
  const page = await account.visit("/sign-up");
  await field(page, "E-mail").fill(user.email);
  await field(page, "Password").fill(user.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await heading(page, "Check your mail");
  await page.goto((await account.mail(user.email)).link);
  const button = page.getByRole("button", { name: "Confirm e-mail" });
  await button.waitFor();
  await page.context().setOffline(true);
  await button.click();
  await waitForAlert(page, offline);

  await page.context().setOffline(false);
  const held = await holdRequests(page, ["POST", /\/auth\/v1\/verify/]);
  await button.dblclick({ noWaitAfter: true });
  const busy = page.getByRole("button", { name: "Confirming…" });
  await busy.waitFor();
  assert.ok(await busy.isDisabled());
  held.letGo();
  await heading(page, "Profile");
  assert.equal(await held.count(), 1);
});

for (const name of ["profile", "second step", "reset password"]) {
  test(`${name}: signing out of this device needs no connection`, async () => {
    const { page } = await openForm(account, name);
    await page.context().setOffline(true);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await heading(page, "You're signed out");
    const names = (await page.context().cookies()).map((cookie) => cookie.name);
    assert.deepEqual(
      names.filter((each) => /auth-token/.test(each)),
      [],
    );
  });
}

test("a device that could not be signed out stays in the list, with the reason", async () => {
  const { user, page } = await account.openSignedIn();
  const other = await account.visit("/sign-in", { userAgent: "Mozilla/5.0 (X11; Linux) Firefox/130.0" });
  await signIn(other, user);
  await heading(other, "Profile");
  await page.getByRole("link", { name: "Devices" }).click();
  const rows = page.getByRole("list", { name: "Devices" }).getByRole("listitem");
  await rows.nth(1).waitFor();
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Sign out Firefox on Linux" }).click();
  await rows.nth(1).getByRole("alert").filter({ hasText: offline }).waitFor();
  assert.equal(await rows.count(), 2);
  await page.getByRole("button", { name: "Sign out other devices" }).click();
  await page.getByRole("alert").filter({ hasText: offline }).nth(1).waitFor();
});

test("a page of the account that cannot be had can be asked for again", async () => {
  const { page } = await account.openSignedIn();
  const getUser = ["GET", /\/auth\/v1\/user$/];
  const headings = {
    "/account": "Profile",
    "/account/email": "Change your e-mail",
    "/account/password": "Change your password",
    "/account/security": "Two-step verification",
    "/account/identities": "Connected accounts",
  };
  for (const [path, title] of Object.entries(headings)) {
    // Client errors are not retried.
    const release = await respondWithError(page, getUser, "conflict", { status: 409 });
    await page.goto(account.url + path);
    await waitForAlert(page, "The server took too long or had a problem. Please try again.");
    await release();
    await page.getByRole("button", { name: "Try again" }).click();
    await heading(page, title);
    await page.getByRole("alert").waitFor({ state: "detached" });
  }
});

test("a code can be typed after the page was loaded again", async () => {
  const code = await openForm(account, "sign in with a code");
  await code.page.reload();
  await waitForText(code.page, code.user.email);
  await code.send();
  await code.expectNext(code.page);

  const reset = await openForm(account, "code of a reset");
  await reset.page.reload();
  await waitForText(reset.page, reset.user.email);
  await reset.send();
  await reset.expectNext(reset.page);

  const change = await openForm(account, "code of a new e-mail");
  await change.page.reload();
  await waitForText(change.page, change.user.email);
  await change.send();
  await change.expectNext(change.page);
});

test("the address can be changed after the page was loaded again", async () => {
  const { page, user } = await openForm(account, "sign in with a code");
  await page.reload();
  await page.getByRole("button", { name: "Use another address" }).click();
  assert.equal(await field(page, "E-mail").inputValue(), user.email);
  await page.reload();
  await heading(page, "Sign in with a code");
  assert.equal(await field(page, "E-mail").inputValue(), user.email);
});

test("the second step is still asked for after the page was loaded again", async () => {
  const user = await createUserWithTotp(account);
  const page = await account.visit("/sign-in?next=%2Faccount%2Fsessions");
  await signIn(page, user);
  await heading(page, "One more step");
  await page.reload();
  await field(page, "Code from your authenticator app").fill(nextTotpCode(user.secret));
  await heading(page, "Devices");
});

test("an app whose picture is gone is set up anew under the same name", async () => {
  const { page } = await account.openSignedIn("/account/security/totp/new");
  const screenshotPath = page.getByAltText("QR code for your authenticator app");
  const secret = async () => (await page.locator("code").innerText()).replaceAll(" ", "");
  await page.getByRole("button", { name: "Continue" }).click();
  await screenshotPath.waitFor();
  const first = await secret();
  await page.reload();
  await heading(page, "Set up an authenticator app");
  await page.getByRole("button", { name: "Continue" }).click();
  await screenshotPath.waitFor();
  assert.notEqual(await secret(), first);
  await field(page, "Code from your authenticator app").fill(nextTotpCode(await secret()));
  await heading(page, "Two-step verification is on");
  await page.goto(`${account.url}/account/security`);
  await page.getByRole("list", { name: "Second steps" }).getByRole("listitem").waitFor();
  assert.equal(await page.getByRole("list", { name: "Unfinished set-up" }).count(), 0);
});

test("an account whose deletion was not confirmed is still there after a reload", async () => {
  const { page, user } = await account.openSignedIn("/account/delete");
  const name = page.getByRole("main").locator("input[name=confirm]");
  await name.fill(user.email);
  await page.reload();
  await heading(page, "Delete your account");
  assert.equal(await name.inputValue(), "");

  await respondWithError(page, ["DELETE", /\/auth\/v1\/user$/], "reauthentication_needed", { status: 400 });
  await name.fill(user.email);
  await page.getByRole("button", { name: "Delete my account" }).click();
  await page.getByRole("dialog", { name: "Confirm it's you" }).waitFor();
  await page.reload();
  await heading(page, "Delete your account");
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal((await account.admin("GET", `/users/${user.id}`)).email, user.email);
});
