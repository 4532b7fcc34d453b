// A session written by one side is read by the other, regardless of its size (client contract C28).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createClient } from "@supabase/supabase-js";

import { newUser, startAccounts } from "../js-clients/support/accounts.mjs";
import { startApp } from "./support/app.mjs";
import { Browser } from "./support/browser.mjs";

let plinth;
let app;
before(async () => {
  plinth = await startAccounts();
  app = await startApp(plinth);
});
after(async () => {
  await app?.stop();
  await plinth?.stop();
});

const open = () => new Browser(app, plinth);

/** Sizes of user metadata, and the resulting number of session cookies. */
const sizes = [
  { chunks: 1, letters: 0 },
  { chunks: 2, letters: 500 },
  { chunks: 3, letters: 1900 },
  { chunks: 4, letters: 2900 },
  { chunks: 11, letters: 10_000 },
];

async function signUp(letters) {
  const user = newUser();
  const admin = createClient(plinth.apiUrl, plinth.keys.secret, { auth: { persistSession: false } });
  const { data, error } = await admin.auth.admin.createUser({
    ...user,
    email_confirm: true,
    user_metadata: { bio: "x".repeat(letters), emoji: "🦀é" },
  });
  assert.equal(error, null);
  return { ...user, id: data.user.id };
}

async function signInWithJs(browser, { email, password }, options) {
  const { error } = await browser.client(options).auth.signInWithPassword({ email, password });
  assert.equal(error, null);
}

async function signInWithRust(browser, { email, password }) {
  const response = await browser.post("/sign-in", { email, password });
  assert.equal(response.status, 303, await response.text());
  assert.equal(response.headers.get("location"), "/private");
}

for (const { chunks, letters } of sizes) {
  test(`JavaScript signs in with ${chunks} cookies, and Rust reads them`, async () => {
    const user = await signUp(letters);
    const browser = open();

    await signInWithJs(browser, user);

    assert.equal(browser.chunkNames.length, chunks);
    assert.equal(await browser.rustUserId(), user.id);
  });

  test(`Rust signs in with ${chunks} cookies, and JavaScript reads them`, async () => {
    const user = await signUp(letters);
    const browser = open();

    await signInWithRust(browser, user);

    assert.equal(browser.chunkNames.length, chunks);
    assert.equal(await browser.jsUserId(), user.id);
    const { data } = await browser.client().auth.getSession();
    assert.equal(data.session.refresh_token, browser.session.refresh_token);
    assert.equal(data.session.user.user_metadata.emoji, "🦀é");
  });
}

test("a page signs in and out, and Rust follows", async () => {
  const user = await signUp(1900);
  const browser = open();
  const page = browser.pageClient();

  const { error } = await page.auth.signInWithPassword(user);
  assert.equal(error, null);
  assert.equal(browser.chunkNames.length, 3);
  assert.equal(await browser.rustUserId(), user.id);

  await page.auth.signOut();
  assert.equal(await browser.rustUserId(), null);
});

test("both sides write the same text", async () => {
  const user = await signUp(500);
  const [js, rust] = [open(), open()];

  await signInWithJs(js, user);
  await signInWithRust(rust, user);

  assert.deepEqual(Object.keys(rust.session), Object.keys(js.session));
  assert.deepEqual(rust.chunkNames, js.chunkNames);
});

for (const { chunks, letters } of sizes.slice(1)) {
  test(`a session of ${chunks} cookies shrinks in JavaScript, and Rust sees no old one`, async () => {
    const user = await signUp(letters);
    const browser = open();
    await signInWithJs(browser, user);

    const client = browser.client();
    await client.auth.updateUser({ data: { bio: "" } });
    await client.auth.refreshSession();

    assert.equal(browser.chunkNames.length, 1);
    assert.equal(await browser.rustUserId(), user.id);
  });

  test(`a session of ${chunks} cookies shrinks in Rust, and JavaScript sees no old one`, async () => {
    const user = await signUp(letters);
    const browser = open();
    await signInWithRust(browser, user);

    assert.equal(browser.chunkNames.length, chunks);
    const first = browser.session.refresh_token;

    const response = await browser.post("/profile", { bio: "" });
    assert.equal(response.status, 303, await response.text());

    assert.equal(browser.chunkNames.length, 1);
    assert.deepEqual(browser.cookieNames, browser.chunkNames, "no other cookie is left");
    const { data } = await browser.client().auth.getSession();
    assert.equal(data.session.user.user_metadata.bio, "");
    assert.notEqual(data.session.refresh_token, first);
    assert.equal(await browser.jsUserId(), user.id);
    assert.equal(await browser.rustUserId(), user.id);
  });
}

test("signing out on either side is seen by the other", async () => {
  const user = await signUp(500);
  const browser = open();

  await signInWithJs(browser, user);
  assert.equal((await browser.post("/auth/sign-out")).status, 303);
  assert.deepEqual(browser.cookieNames, []);
  assert.equal(await browser.jsUserId(), null);

  await signInWithRust(browser, user);
  const { error } = await browser.client().auth.signOut();
  assert.equal(error, null);
  assert.deepEqual(browser.cookieNames, []);
  assert.equal(await browser.rustUserId(), null);
});

test("cookies of old versions and of smaller sessions are read", async () => {
  const user = await signUp(500);

  const raw = open();
  await signInWithJs(raw, user, { cookieEncoding: "raw" });
  assert.equal(await raw.rustUserId(), user.id);

  const tokens = open();
  await signInWithJs(tokens, user, { cookies: { encode: "tokens-only" } });
  assert.equal(tokens.session.user, undefined);
  assert.equal(await tokens.rustUserId(), user.id);
});

test("a form of another site is rejected", async () => {
  const user = await signUp(0);
  const browser = open();
  await signInWithJs(browser, user);

  const response = await fetch(new URL("/auth/sign-out", app.url), {
    method: "POST",
    redirect: "manual",
    headers: {
      origin: "http://evil.example",
      cookie: browser.cookieHeader,
    },
  });

  assert.equal(response.status, 403);
  assert.equal((await response.json()).code, "csrf_rejected");
  assert.equal(await browser.rustUserId(), user.id);
});
