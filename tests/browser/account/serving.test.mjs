// How the pages are served: access, headers, paths.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  auditScreen,
  heading,
  openAccount,
  screenshotPath,
  sessionCookies,
  signIn,
  waitForText,
} from "../support/account.mjs";
import { createUserWithTotp } from "../support/totp.mjs";

let account;
before(async () => {
  account = await openAccount({
    "plinth.account.title": "Harbour & Sons <b>",
    "plinth.account.accent": "#5b3fa6",
    "plinth.account.logo": "/logo.svg",
  });
});
after(() => account?.stop());

const get = (path, headers = {}) => fetch(account.url + path, { redirect: "manual", headers });

test("a page runs only its own scripts, and cannot be framed or cached", async () => {
  const guarded = (response) => {
    assert.equal(response.status, 200);
    const header = (name) => response.headers.get(name);
    const policy = header("content-security-policy");
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*/);
    assert.equal(header("referrer-policy"), "strict-origin");
    assert.match(header("cache-control"), /\bno-store\b/);
    assert.equal(header("x-content-type-options"), "nosniff");
  };
  // Pages for signed-in users pass through the session check.
  const user = await createUserWithTotp(account);
  const half = await account.authRequest("/token?grant_type=password", user);
  guarded(await get("/account/sessions", as(user.session)));
  guarded(await get("/sign-in/mfa", as(half)));
  const led = await get("/account", as(half));
  assert.equal(led.status, 303);
  assert.match(led.headers.get("cache-control"), /\bno-store\b/);

  const response = await get("/sign-in");
  guarded(response);
  const page = await response.text();
  const scripts = [...page.matchAll(/<script([^>]*)>([^<]*)/g)];
  for (const [, attributes, text] of scripts) {
    assert.ok(attributes.includes("application/json") || text.trim() === "", text);
  }
  assert.match(page, /<title>Harbour &amp; Sons &lt;b&gt;</);
});

test("files are compressed, and kept for good", async () => {
  const page = await (await get("/sign-in")).text();
  const path = /src="([^"]+\.js)"/.exec(page)[1];
  assert.match(path, /^\/_account\/assets\//);
  for (const encoding of ["br", "gzip"]) {
    const response = await get(path, { "accept-encoding": encoding });
    assert.equal(response.headers.get("content-encoding"), encoding);
    assert.equal(response.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.match(response.headers.get("content-type"), /javascript/);
  }
  const { headers } = await get(path);
  const again = await get(path, { "if-none-match": headers.get("etag") });
  assert.equal(again.status, 304);
  assert.equal((await get("/_account/assets/nothing.js")).status, 404);
});

test("guests see nothing of an account, not even for a moment", async () => {
  const response = await get("/account/sessions?x=1");
  assert.equal(response.status, 303);
  assert.equal(response.headers.get("location"), "/sign-in?next=%2Faccount%2Fsessions%3Fx%3D1");
  assert.equal((await get("/nothing-of-the-sort")).status, 404);
  const posted = await fetch(`${account.url}/sign-in`, { method: "POST" });
  assert.equal(posted.status, 405);
});

test("a session that still needs its second factor sees nothing of an account either", async () => {
  const user = await createUserWithTotp(account);
  const half = await account.authRequest("/token?grant_type=password", user);
  const forged = { ...half, user: { ...half.user, factors: [] } };
  for (const session of [half, forged]) {
    // Regardless of the referrer, also from another site.
    for (const site of ["none", "cross-site"]) {
      const headers = { ...as(session), "sec-fetch-site": site };
      const response = await get("/account/sessions?x=1", headers);
      assert.equal(response.status, 303);
      assert.equal(response.headers.get("location"), "/sign-in/mfa?next=%2Faccount%2Fsessions%3Fx%3D1");
    }
  }
  assert.equal((await get("/sign-in/mfa?next=%2Faccount", as(half))).status, 200);
  assert.equal((await get("/account/sessions", as(user.session))).status, 200);
  const simple = await account.authRequest("/token?grant_type=password", await account.createUser());
  assert.equal((await get("/account/sessions", as(simple))).status, 200);

  const guest = await get("/sign-in/mfa?next=%2Faccount%2Fsessions");
  assert.equal(guest.status, 303);
  assert.equal(guest.headers.get("location"), "/sign-in?next=%2Faccount%2Fsessions");
});

/** The Cookie header of a session. */
const as = (session) => ({
  cookie: sessionCookies(session, account.url)
    .map(({ name, value }) => `${name}=${value}`)
    .join("; "),
});

const signOutEverywhere = ({ access_token: token }) =>
  fetch(`${account.url}/auth/v1/logout?scope=global`, {
    method: "POST",
    headers: { apikey: account.plinth.keys.publishable, authorization: `Bearer ${token}` },
  });

test("a session that was ended elsewhere opens no page, with one step or two behind it", async () => {
  const one = await account.authRequest("/token?grant_type=password", await account.createUser());
  const { session: two } = await createUserWithTotp(account);
  for (const session of [one, two]) {
    assert.equal((await get("/account", as(session))).status, 200);
    await signOutEverywhere(session);
    const response = await get("/account", as(session));
    assert.equal(response.status, 303);
    assert.equal(response.headers.get("location"), "/sign-in?next=%2Faccount");
    const removed = response.headers.getSetCookie().filter((line) => /=; Max-Age=0/.test(line));
    assert.equal(removed.length, sessionCookies(session, account.url).length);
  }
});

test("nothing of an account whose session has ended is shown, not even for a moment", async () => {
  const user = await createUserWithTotp(account);
  await signOutEverywhere(user.session);
  const page = await account.visit("about:blank");
  await page.context().addCookies(sessionCookies(user.session, account.url));
  await page.addInitScript((needle) => {
    const check = () => {
      if (document.body?.textContent.includes(needle)) sessionStorage.setItem("seen", "yes");
    };
    new MutationObserver(check).observe(document, { childList: true, subtree: true, characterData: true });
  }, user.email);
  await page.goto(`${account.url}/account`);
  await heading(page, "Sign in");
  assert.equal(await page.evaluate(() => sessionStorage.getItem("seen")), null);
});

test("every project has its own pages below its path, and its own session", async () => {
  const { ref } = account.plinth;
  const user = await account.createUser();
  const page = await account.visit(`/p/${ref}/account/identities`);
  await heading(page, "Sign in");
  assert.equal(new URL(page.url()).pathname, `/p/${ref}/sign-in`);
  await signIn(page, user);
  await heading(page, "Connected accounts");
  assert.equal(new URL(page.url()).pathname, `/p/${ref}/account/identities`);
  const cookies = await page.context().cookies();
  const session = cookies.filter(({ name }) => name.startsWith(`sb-${ref}-auth-token`));
  assert.ok(session.length > 0, cookies.map(({ name }) => name).join());
  assert.ok(session.every(({ path }) => path === `/p/${ref}`));

  await page.goto(`${account.url}/sign-in`);
  await heading(page, "Sign in");
});

test("without script the page says what it needs", async () => {
  const page = await account.visit("/sign-in", { javaScriptEnabled: false });
  await heading(page, "These pages need JavaScript");
  await page.screenshot({ path: await screenshotPath("no-script") });
  const box = await page.locator("main").boundingBox();
  await page.setViewportSize({ width: 320, height: 640 });
  await page.screenshot({ path: await screenshotPath("no-script-320") });
  assert.ok(box.width <= 1280 && (await page.locator("main").boundingBox()).width <= 320);
});

test("the operator's colour and name are on the page", async () => {
  const page = await account.visit("/sign-in");
  await heading(page, "Sign in");
  assert.match(await page.title(), /Harbour & Sons <b>/);
  const colour = await page
    .getByRole("button", { name: "Sign in", exact: true })
    .evaluate((button) => getComputedStyle(button).backgroundColor);
  assert.equal(colour, "rgb(91, 63, 166)");
});

test("a page that is not there says so", async () => {
  const { page } = await account.openSignedIn("/account/nothing");
  await heading(page, "There is no such page");
  await auditScreen(page, "not-found");
});

test("a page that has lost its server waits for it", async () => {
  const page = await account.visit("/sign-in");
  await heading(page, "Sign in");
  await page.route("**/auth/v1/settings", (route) => route.abort());
  await page.reload();
  await waitForText(page, "We can't reach the server. Check your connection and try again.");
  await auditScreen(page, "sign-in-offline");
  await page.unroute("**/auth/v1/settings");
  await page.getByRole("button", { name: "Try again" }).click();
  await heading(page, "Sign in");
});

test("a part that cannot be loaded is no blank page", async () => {
  const user = await account.createUser();
  const page = await account.visit("/sign-in");
  await heading(page, "Sign in");
  await page.route("**/signed-in-app-*.js", (route) => route.abort());
  await signIn(page, user);
  await heading(page, "This page could not be loaded");
  await auditScreen(page, "load-again");
  await page.unroute("**/signed-in-app-*.js");
  await page.getByRole("button", { name: "Load again" }).click();
  await heading(page, "Profile");
});

test("operators have their pages at the console, with a session of their own", async () => {
  const guest = await get("/console/account");
  assert.equal(guest.status, 303);
  assert.equal(guest.headers.get("location"), "/console/sign-in?next=%2Fconsole%2Faccount");
  const page = await (await get("/console/sign-in")).text();
  const settings = JSON.parse(/id="plinth-account">([^<]*)</.exec(page)[1]);
  assert.equal(settings.mount, "/console");
  assert.equal(settings.storageKey, "sb-platform-auth-token");
  assert.equal(settings.cookiePath, "/console");
  assert.equal(settings.projectUrl, `${account.url}/p/platform`);

  const shown = await account.visit("/console");
  await heading(shown, "Sign in");
  assert.equal(new URL(shown.url()).pathname, "/console/sign-in");
});

test("no user makes themselves an operator", async () => {
  const page = await (await get("/console/sign-in")).text();
  const { key, projectUrl } = JSON.parse(/id="plinth-account">([^<]*)</.exec(page)[1]);
  const headers = { apikey: key, "content-type": "application/json" };
  const settings = await (await fetch(`${projectUrl}/auth/v1/settings`, { headers })).json();
  assert.equal(settings.disable_signup, true);
  const reply = await fetch(`${projectUrl}/auth/v1/signup`, {
    method: "POST",
    headers,
    body: JSON.stringify({ email: "eve@mail.dev", password: "correct horse" }),
  });
  assert.equal(reply.status, 422);
  assert.equal(reply.headers.get("x-sb-error-code"), "signup_disabled");

  const shown = await account.visit("/console/sign-up");
  await heading(shown, "Sign-ups are closed.");
  await auditScreen(shown, "console-sign-up-closed");
  await shown.getByRole("link", { name: "Sign in" }).click();
  await heading(shown, "Sign in");
  assert.equal(await shown.getByRole("link", { name: "Create an account" }).count(), 0);
});
