// The account pages check the session on the server before they are served (client contract U2, U25).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { createClient } from "@supabase/supabase-js";

import { newUser, startAccounts } from "../js-clients/support/accounts.mjs";
import { Browser } from "./support/browser.mjs";

/** So short that the token is always about to expire. */
const seconds = 3;

let plinth;
before(async () => {
  plinth = await startAccounts({ "auth.jwt_expiry": seconds });
});
after(() => plinth?.stop());

const withoutSession = { auth: { persistSession: false, autoRefreshToken: false } };

/** A user who signed in with the published client; the account pages are the application. */
async function signedIn() {
  const user = newUser();
  const admin = createClient(plinth.apiUrl, plinth.keys.secret, withoutSession);
  const { data } = await admin.auth.admin.createUser({ ...user, email_confirm: true });
  const browser = new Browser({ url: plinth.apiUrl }, plinth);
  const { email, password } = user;
  const { error } = await browser.client().auth.signInWithPassword({ email, password });
  assert.equal(error, null);
  return { browser, admin, id: data.user.id };
}

test("guests are led to the sign-in page, and back afterwards", async () => {
  const browser = new Browser({ url: plinth.apiUrl }, plinth);

  const response = await browser.get("/account/security?tab=1");

  assert.equal(response.status, 303);
  assert.equal(response.headers.get("location"), "/sign-in?next=%2Faccount%2Fsecurity%3Ftab%3D1");
  assert.equal(response.headers.get("cache-control"), "no-store");
});

test("a one-time secret that a guest brings along goes neither to the next page nor into the log", async () => {
  const browser = new Browser({ url: plinth.apiUrl }, plinth);
  const secret = "6b1f0c9e-77aa-4d3e-9a51-0f6f8c1d2e3b";

  for (const name of ["code", "token_hash", "access_token", "%63ode"]) {
    const response = await browser.get(`/account?${name}=${secret}&tab=1`);
    assert.equal(response.headers.get("location"), "/sign-in?next=%2Faccount%3Ftab%3D1", name);
  }
  const step = await browser.get(`/sign-in/mfa?code=${secret}&next=%2Faccount`);
  assert.equal(step.headers.get("location"), "/sign-in?next=%2Faccount");

  const logged = await logs(/\/sign-in\/mfa\?/);
  assert.equal(logged.match(/\/account\?\S*tab=1/g)?.length >= 4, true, logged);
  assert.ok(!logged.includes(secret), logged);
});

/** Waits until the log contains a text. */
async function logs(expected) {
  for (let tries = 0; tries < 100; tries += 1) {
    const { stdout } = await plinth.cli("logs");
    if (expected.test(stdout)) return stdout;
    await wait(100);
  }
  throw new Error(`the log has no ${expected}`);
}

test("a session that is about to end is refreshed before its page is sent", async () => {
  const { browser, id } = await signedIn();
  const old = browser.session;

  const response = await browser.get("/account");

  assert.equal(response.status, 200);
  assert.match(response.headers.get("cache-control"), /no-store/);
  assert.match(await response.text(), /id="plinth-account"/);
  assert.notEqual(browser.session.refresh_token, old.refresh_token);
  assert.equal(browser.session.user.id, id);
  assert.equal(await browser.jsUserId(), id);
  const headers = { apikey: plinth.keys.publishable, authorization: `Bearer ${browser.session.access_token}` };
  const devices = await (await fetch(`${plinth.apiUrl}/auth/v1/user/sessions`, { headers })).json();
  assert.deepEqual(devices.map((device) => device.user_agent), ["node"], "the device is still known");
});

test("pages for everybody leave the session alone", async () => {
  const { browser } = await signedIn();
  const old = browser.session;

  const response = await browser.get("/sign-in");

  assert.equal(response.status, 200);
  assert.deepEqual(response.headers.getSetCookie(), []);
  assert.deepEqual(browser.session, old);
});

test("a session that was ended elsewhere leads to the sign-in page, without its cookies", async () => {
  const { browser, admin } = await signedIn();
  const { error } = await admin.auth.admin.signOut(browser.session.access_token, "global");
  assert.equal(error, null);
  // The access token has to expire, and only time ends it.
  await wait((seconds + 1) * 1000);

  const response = await browser.get("/account");

  assert.equal(response.status, 303);
  assert.equal(response.headers.get("location"), "/sign-in?next=%2Faccount");
  assert.deepEqual(browser.chunkNames, []);
});
