// Tokens so short that they are always about to end: each side refreshes what the other wrote.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { somebody, startAccounts } from "../js-clients/support/accounts.mjs";
import postgres from "../js-clients/support/postgres.mjs";
import { startApp } from "./support/app.mjs";
import { Browser } from "./support/browser.mjs";

let plinth;
let app;
let sql;
before(async () => {
  plinth = await startAccounts({ "auth.jwt_expiry": 60 });
  app = await startApp(plinth);
  sql = postgres(plinth.dbUrl);
});
after(async () => {
  await sql?.end();
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

/** How often the auth service has refreshed somebody's session: what it noted, and what it gave. */
async function refreshesOf(id) {
  const [{ noted }] = await sql`
    select count(*)::int as noted from auth.audit_log_entries
    where payload->>'action' = 'token_refreshed' and payload->>'actor_id' = ${id}`;
  const [{ given }] = await sql`
    select count(*)::int as given from auth.refresh_tokens where user_id = ${id}`;
  return { noted, given };
}

test("two hundred requests with one session that is nearly over make one refresh", async () => {
  const { browser, id } = await signUp();
  const before = browser.session.refresh_token;
  assert.deepEqual(await refreshesOf(id), { noted: 0, given: 1 });

  const users = await Promise.all(Array.from({ length: 200 }, () => browser.userOfRust()));

  assert.deepEqual(await refreshesOf(id), { noted: 1, given: 2 });
  assert.equal(users.length, 200);
  assert.deepEqual(new Set(users), new Set([id]));
  assert.notEqual(browser.session.refresh_token, before);
  assert.equal(await browser.userOfJs(), id);
});
