// A sign-in at a real OpenID provider that starts on one side (Rust or JavaScript) and ends on the other.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { startAccounts } from "../js-clients/support/accounts.mjs";
import { followRedirects, startOpenIdProvider } from "../js-clients/support/openid.mjs";
import { startApp } from "./support/app.mjs";
import { Browser } from "./support/browser.mjs";

let idp;
let plinth;
let app;
before(async () => {
  idp = await startOpenIdProvider();
  plinth = await startAccounts({
    "auth.additional_redirect_urls": ["http://localhost:*/**"],
    "auth.external.keycloak.enabled": true,
    "auth.external.keycloak.client_id": idp.client.client_id,
    "auth.external.keycloak.secret": idp.client.client_secret,
    "auth.external.keycloak.url": idp.url,
  });
  idp.serve([`${plinth.apiUrl}/auth/v1/callback`]);
  app = await startApp(plinth);
});
after(async () => {
  await app?.stop();
  await plinth?.stop();
  idp?.stop();
});
beforeEach(() => {
  const sub = `person-${Math.random()}`;
  Object.assign(idp.user, { sub, email: `${sub}@mail.dev`, email_verified: true });
});

test("begun in JavaScript, completed in Rust", async () => {
  const browser = new Browser(app, plinth);
  const { data, error } = await browser.client().auth.signInWithOAuth({
    provider: "keycloak",
    options: { scopes: "openid", redirectTo: `${app.url}/auth/callback`, skipBrowserRedirect: true },
  });
  assert.equal(error, null);
  assert.equal(browser.cookieNames.length, 3);

  const landed = await followRedirects(data.url, app.url);
  const response = await browser.get(landed.pathname + landed.search);

  assert.equal(response.status, 303, await response.text());
  assert.equal(response.headers.get("location"), "/");
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  assert.equal(browser.session.user.email, idp.user.email);
  const user = await browser.rustUserId();
  assert.equal(user, browser.session.user.id);
  assert.equal(await browser.jsUserId(), user);
});

test("begun in Rust, completed in JavaScript", async () => {
  const browser = new Browser(app, plinth);
  const started = await browser.post("/sign-in/keycloak");
  assert.equal(started.status, 303, await started.text());
  assert.equal(browser.cookieNames.length, 3);

  const landed = await followRedirects(started.headers.get("location"), app.url);
  const code = landed.searchParams.get("code");
  const { data, error } = await browser.client().auth.exchangeCodeForSession(code);

  assert.equal(error, null);
  assert.equal(data.session.user.email, idp.user.email);
  assert.equal(await browser.rustUserId(), data.session.user.id);
});

test("a code is of no use in another browser", async () => {
  const browser = new Browser(app, plinth);
  const started = await browser.post("/sign-in/keycloak");
  const landed = await followRedirects(started.headers.get("location"), app.url);

  const other = new Browser(app, plinth);
  const response = await other.get(landed.pathname + landed.search);

  assert.equal(response.headers.get("location"), "/sign-in?error=pkce_code_verifier_not_found");
  assert.deepEqual(other.cookieNames, []);
});
