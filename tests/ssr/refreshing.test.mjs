// Access tokens that are always about to expire: each side refreshes the session that the other wrote.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser, startAccounts } from "../js-clients/support/accounts.mjs";
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
  const { data, error } = await browser.client().auth.signUp(newUser());
  assert.equal(error, null);
  return { browser, id: data.user.id };
}

test("Rust refreshes, and JavaScript goes on with the new session", async () => {
  const { browser, id } = await signUp();
  const first = browser.session.refresh_token;

  assert.equal(await browser.rustUserId(), id);

  const second = browser.session.refresh_token;
  assert.notEqual(second, first);
  const { data } = await browser.client().auth.getSession();
  assert.equal(data.session.user.id, id);
  assert.notEqual(browser.session.refresh_token, second);
  assert.equal(await browser.rustUserId(), id);
});

/** The number of refreshes of a user's sessions: audit log entries and issued tokens. */
async function refreshesOf(id) {
  const [{ logged }] = await sql`
    select count(*)::int as logged from auth.audit_log_entries
    where payload->>'action' = 'token_refreshed' and payload->>'actor_id' = ${id}`;
  const [{ issued }] = await sql`
    select count(*)::int as issued from auth.refresh_tokens where user_id = ${id}`;
  return { logged, issued };
}

test("two hundred requests with one session that is nearly over make one refresh", async () => {
  const { browser, id } = await signUp();
  const before = browser.session.refresh_token;
  assert.deepEqual(await refreshesOf(id), { logged: 0, issued: 1 });

  const users = await Promise.all(Array.from({ length: 200 }, () => browser.rustUserId()));

  assert.deepEqual(await refreshesOf(id), { logged: 1, issued: 2 });
  assert.equal(users.length, 200);
  assert.deepEqual(new Set(users), new Set([id]));
  assert.notEqual(browser.session.refresh_token, before);
  assert.equal(await browser.jsUserId(), id);
});
