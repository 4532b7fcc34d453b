// Sign-in by password and by code, and its errors (client contract 5.4, 5.5).

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
} from "../support/account.mjs";

let account;
before(async () => {
  account = await openAccount();
});
after(() => account?.stop());

test("the password opens the account, in cookies that servers read", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  await heading(page, "Sign in");
  await auditScreen(page, "sign-in");
  await signIn(page, user);

  await heading(page, "Profile");
  const cookies = await page.context().cookies();
  const session = cookies.find(({ name }) => /^sb-localhost-auth-token(\.0)?$/.test(name));
  assert.ok(session, JSON.stringify(cookies));
  assert.match(session.value, /^base64-/);
  assert.deepEqual([session.sameSite, session.path, session.httpOnly], ["Lax", "/", false]);
});

test("a page that needs an account is shown after signing in", async () => {
  const user = await account.createUser();
  const page = await account.visit("/account/sessions");
  await heading(page, "Sign in");
  assert.equal(new URL(page.url()).searchParams.get("next"), "/account/sessions");

  await signIn(page, user);
  await heading(page, "Devices");
  await page.goto(`${account.url}/sign-in?next=%2Faccount%2Fidentities`);
  await heading(page, "Connected accounts");
});

test("a code that a guest brings to a page of the account goes no further", async () => {
  const page = await account.visit("/account?code=abc&tab=1");
  await heading(page, "Sign in");
  assert.equal(page.url(), `${account.url}/sign-in?next=%2Faccount%3Ftab%3D1`);
});

test("the application gets its people back, at a page that is not ours", async () => {
  const page = await account.visit("/sign-in?next=%2Fauth%2Fv1%2Fhealth");
  await signIn(page, await account.createUser());
  await page.waitForURL(`${account.url}/auth/v1/health`);
});

test("the address travels from form to form", async () => {
  const page = await account.visit("/sign-in");
  const address = () => field(page, "E-mail").inputValue();
  await field(page, "E-mail").fill("ann@mail.dev");
  const ways = [
    ["Forgot password?", "Forgot your password?", "Back to sign-in"],
    ["Sign in with a code instead", "Sign in with a code", "Use another way to sign in"],
    ["Create an account", "Create an account", "Sign in"],
  ];
  for (const [there, title, back] of ways) {
    await page.getByRole("link", { name: there }).click();
    await heading(page, title);
    assert.equal(await address(), "ann@mail.dev", title);
    await page.getByRole("link", { name: back }).click();
    await heading(page, "Sign in");
    assert.equal(await address(), "ann@mail.dev", back);
  }
});

test("tokens in a URL are removed, and do not sign in", async () => {
  const session = await account.authRequest("/token?grant_type=password", await account.createUser());
  const tokens = `access_token=${session.access_token}&refresh_token=${session.refresh_token}`;
  const page = await account.visit(`/sign-in?next=%2Faccount&code=abc#${tokens}&type=magiclink`);
  await heading(page, "Sign in");
  assert.equal(await page.evaluate(() => location.href), `${account.url}/sign-in?next=%2Faccount`);
  await page.reload();
  await heading(page, "Sign in");
  assert.equal(page.url(), `${account.url}/sign-in?next=%2Faccount`);
  const names = (await page.context().cookies()).map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => /auth-token/.test(name)),
    [],
  );
});

test("next does not redirect to other sites", async () => {
  for (const next of ["https://evil.test/", "//evil.test", "/\\evil.test", "javascript:alert(1)"]) {
    const user = await account.createUser();
    const page = await account.visit(`/sign-in?next=${encodeURIComponent(next)}`);
    await signIn(page, user);
    await heading(page, "Profile");
    assert.equal(new URL(page.url()).origin, account.url, next);
  }
});

test("a page that leads to itself leads to the account", async () => {
  const session = await account.authRequest("/token?grant_type=password", await account.createUser());
  for (const next of ["/sign-in", "/sign-in?next=/sign-in", "/sign-in/"]) {
    const page = await account.visit(`/sign-in?next=${encodeURIComponent(next)}`);
    await signIn(page, await account.createUser());
    await heading(page, "Profile");
    await page.context().close();
  }
  const page = await account.openWithSession(session, "/sign-in?next=%2Fsign-in");
  await heading(page, "Profile");
});

test("a wrong password is cleared and asked for again", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  await signIn(page, { ...user, password: "wrong" });

  await waitForAlert(page, "E-mail or password is wrong.");
  const password = field(page, "Password");
  assert.equal(await password.inputValue(), "");
  assert.ok(await hasFocus(password));
  assert.ok(await getsTitle(page, "Error: Sign in"));
  await auditScreen(page, "sign-in-wrong");

  await page.getByRole("link", { name: "Forgot password?" }).click();
  assert.equal(await field(page, "E-mail").inputValue(), user.email);
});

test("an unconfirmed address gets its mail again", async () => {
  const user = newUser();
  await account.admin("POST", "/users", { ...user, email_confirm: false });
  const page = await account.visit("/sign-in?next=%2Faccount%2Fsessions");
  await signIn(page, user);

  await waitForAlert(page, "Confirm your e-mail first.");
  await page.getByRole("button", { name: "Send the confirmation again" }).click();
  await page.getByRole("button", { name: /again in \d+ s/ }).waitFor();
  await page.goto((await account.mail(user.email)).link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();
  await heading(page, "Devices");
});

test("a link that is too old is sent again, and still leads on", async () => {
  const user = newUser();
  await account.admin("POST", "/users", { ...user, email_confirm: false });
  const page = await account.visit("/confirm?token_hash=abc&type=signup&next=%2Faccount%2Fsessions");
  await page.getByRole("button", { name: "Confirm e-mail" }).click();
  await heading(page, "This link no longer works");
  await field(page, "E-mail").fill(user.email);
  await page.getByRole("button", { name: "Send a new link" }).click();
  await heading(page, "Check your mail");
  await page.goto((await account.mail(user.email)).link);
  await page.getByRole("button", { name: "Confirm e-mail" }).click();
  await heading(page, "Devices");
});

test("the way that was used last is marked", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  const leave = async () => {
    await heading(page, "Profile");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in again" }).click();
  };
  assert.equal(await page.getByText("Last used").count(), 0);
  await signIn(page, user);
  await leave();
  const submit = page.getByRole("button", { name: "Sign in", exact: true });
  await submit.getByText("Last used").waitFor();
  assert.match(await page.ariaSnapshot(), /button "Sign in"/);
  await auditScreen(page, "sign-in-last-used");

  const byCode = page.getByRole("link", { name: "Sign in with a code instead" });
  await byCode.click();
  await field(page, "E-mail").fill(user.email);
  await page.getByRole("button", { name: "Send code" }).click();
  await heading(page, "Check your mail");
  await field(page, "Code").fill((await account.mail(user.email)).otp);
  await leave();
  await byCode.getByText("Last used").waitFor();
  assert.equal(await page.getByText("Last used").count(), 1);
});

test("a suspended account gets a page that says so", async () => {
  const user = await account.createUser();
  await account.admin("PUT", `/users/${user.id}`, { ban_duration: "1h" });
  const page = await account.visit("/sign-in");
  await signIn(page, user);

  await heading(page, "This account is suspended");
  await auditScreen(page, "banned");
});

test("pressing twice signs in once", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  let calls = 0;
  page.on("request", (request) => {
    if (request.url().includes("grant_type=password")) calls += 1;
  });
  await field(page, "E-mail").fill(user.email);
  await field(page, "Password").fill(user.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).dblclick({ noWaitAfter: true });

  await heading(page, "Profile");
  assert.equal(calls, 1);
});

test("everything works from the keyboard", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  await field(page, "E-mail").focus();
  await page.keyboard.type(user.email);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  assert.ok(await hasFocus(field(page, "Password")));
  await page.keyboard.type(user.password);
  await page.keyboard.press("Tab");
  const show = page.getByRole("button", { name: "Show password" });
  assert.ok(await hasFocus(show));
  await page.keyboard.press("Space");
  assert.equal(await show.getAttribute("aria-pressed"), "true");
  await field(page, "Password").press("Enter");

  await heading(page, "Profile");
});

test("a code signs in, and does not reveal whether an account existed", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  await page.getByRole("link", { name: "Sign in with a code instead" }).click();
  await heading(page, "Sign in with a code");
  await auditScreen(page, "code-address");
  await field(page, "E-mail").fill(user.email);
  await page.getByRole("button", { name: "Send code" }).click();
  await heading(page, "Check your mail");
  await auditScreen(page, "code");
  await field(page, "Code").fill("000000");
  await waitForAlert(page, "Wrong or expired code.");
  await auditScreen(page, "code-wrong");
  await field(page, "Code").fill((await account.mail(user.email)).otp);

  await heading(page, "Profile");
});

test("a link that is opened in another tab takes this one along", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in/code");
  await field(page, "E-mail").fill(user.email);
  await page.getByRole("button", { name: "Send code" }).click();
  await heading(page, "Check your mail");

  const other = await page.context().newPage();
  await other.goto((await account.mail(user.email)).link);
  await heading(other, "Sign in");
  // The toast appears regardless of what this tab is waiting for.
  const notified = page.getByRole("status").filter({ hasText: "You're signed in." }).waitFor();
  await other.getByRole("button", { name: "Sign in" }).click();
  await Promise.all([notified, heading(other, "Profile"), heading(page, "Profile")]);
});

test("an ended session says so, and nothing else", async () => {
  const page = await account.visit("/sign-in?reason=revoked");
  const notices = {
    revoked: "This device was signed out.",
    expired: "You've been signed out. Please sign in again.",
    signed_out: "You're signed out.",
  };
  for (const [reason, text] of Object.entries(notices)) {
    await page.goto(`${account.url}/sign-in?reason=${reason}`);
    await page.getByRole("status").filter({ hasText: text }).waitFor();
  }
  await auditScreen(page, "sign-in-notice");
  await page.goto(`${account.url}/sign-in?reason=toString`);
  await heading(page, "Sign in");
  assert.equal(await page.locator("main").getByRole("status").count(), 0);
});

test("signing out ends here, and in other tabs", async () => {
  const { page } = await account.openSignedIn();
  const other = await page.context().newPage();
  await other.goto(`${account.url}/account/password`);
  await heading(other, "Change your password");
  await page.getByRole("button", { name: "Sign out" }).click();

  await heading(page, "You're signed out");
  await auditScreen(page, "signed-out");
  await heading(other, "Sign in");
  assert.ok(!(await page.context().cookies()).some(({ name }) => /auth-token(\.\d)?$/.test(name)));
});

test("where the server says that an address is taken, the page says what to do", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-up");
  await field(page, "E-mail").fill(user.email);
  await field(page, "Password").fill(user.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await waitForAlert(page, "An account with this e-mail already exists. Sign in or reset your password.");
  await auditScreen(page, "sign-up-taken");
  await page.getByRole("alert").getByRole("link", { name: "Sign in" }).click();
  await heading(page, "Sign in");
  assert.equal(await field(page, "E-mail").inputValue(), user.email);
});
