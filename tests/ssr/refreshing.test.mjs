// Tokens so short that they are always about to end: each side refreshes what the other wrote.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { somebody, startAccounts } from "../js-clients/support/accounts.mjs";
import { startApp } from "./support/app.mjs";
import { Browser } from "./support/browser.mjs";

let plinth;
let app;
before(async () => {
  plinth = await startAccounts({ "auth.jwt_expiry": 60 });
  app = await startApp(plinth);
});
after(async () => {
  await app?.stop();
  await plinth?.stop();
});

async function signUp() {
  const browser = new Browser(app, plinth);
  const { data, error } = await browser.client().auth.signUp(somebody());
  assert.equal(error, null);
  return { browser, id: data.user.id };
}

test("Rust refreshes, and JavaScript goes on with the new session", async () => {
  const { browser, id } = await signUp();
  const first = browser.session.refresh_token;

  assert.equal(await browser.userOfRust(), id);

  const second = browser.session.refresh_token;
  assert.notEqual(second, first);
  const { data } = await browser.client().auth.getSession();
  assert.equal(data.session.user.id, id);
  assert.notEqual(browser.session.refresh_token, second);
  assert.equal(await browser.userOfRust(), id);
});

test("many requests of one page make one refresh", async () => {
  const { browser, id } = await signUp();
  const before = browser.session.refresh_token;

  const users = await Promise.all(Array.from({ length: 20 }, () => browser.userOfRust()));

  assert.deepEqual(new Set(users), new Set([id]));
  assert.notEqual(browser.session.refresh_token, before);
  assert.equal(await browser.userOfJs(), id);
});
