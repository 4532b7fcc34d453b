// Sign-in, sign-out and sessions.

import assert from "node:assert/strict";
import { once, EventEmitter } from "node:events";
import { after, before, test } from "node:test";

import { newUser, startAccounts } from "../support/accounts.mjs";
import { authMethods, connect, decodeClaims, expectData, expectError, isSessionValid } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startAccounts();
});
after(() => plinth?.stop());

async function createUser(options) {
  const ann = newUser();
  const supabase = connect(plinth, options);
  const { user, session } = await expectData(supabase.auth.signUp(ann));
  return { ann, supabase, user, session };
}

/** Another session of the same user. */
async function signIn(ann) {
  const supabase = connect(plinth);
  const { session } = await expectData(supabase.auth.signInWithPassword(ann));
  return { supabase, session };
}

test("without confirmations a new account is signed in at once", async () => {
  const { user, session } = await createUser();

  assert.ok(user.email_confirmed_at);
  assert.equal(session.token_type, "bearer");
  assert.equal(session.expires_in, 3600);
  assert.deepEqual(authMethods(session), ["password"]);
});

test("an address in use is rejected, and so is a wrong password", async () => {
  const { ann } = await createUser();
  const wrong = { ...ann, password: "wrong" };

  assert.deepEqual(await expectError(connect(plinth).auth.signUp(ann)), [422, "user_already_exists"]);
  assert.deepEqual(await expectError(connect(plinth).auth.signInWithPassword(wrong)), [
    400,
    "invalid_credentials",
  ]);
  const stranger = { ...newUser("nobody"), password: "wrong" };
  assert.deepEqual(await expectError(connect(plinth).auth.signInWithPassword(stranger)), [
    400,
    "invalid_credentials",
  ]);
});

test("the address may be written in any case", async () => {
  const { ann, user } = await createUser();

  const { session } = await signIn({ ...ann, email: ann.email.toUpperCase() });

  assert.equal(session.user.id, user.id);
});

test("the server knows who it is, and so do the claims", async () => {
  const { supabase, user, session } = await createUser();

  const known = await expectData(supabase.auth.getUser());
  const { claims, header } = await expectData(supabase.auth.getClaims());

  assert.equal(known.user.id, user.id);
  assert.deepEqual([claims.sub, claims.email, claims.aal], [user.id, user.email, "aal1"]);
  assert.equal(claims.iss, `${plinth.apiUrl}/auth/v1`);
  assert.equal(header.alg, "ES256");
  assert.equal(claims.session_id, decodeClaims(session).session_id);
});

test("keys of both forms are as good, and what is no key opens nothing", async () => {
  const { publishable, anon, secret, serviceRole } = plinth.keys;

  for (const key of [publishable, anon]) await expectData(connect(plinth, {}, key).auth.signUp(newUser()));
  for (const key of [secret, serviceRole]) await expectData(connect(plinth, {}, key).auth.admin.listUsers());
  for (const key of ["sb_publishable_forged", `${anon}x`]) {
    const [status] = await expectError(connect(plinth, {}, key).auth.signUp(newUser()));
    assert.equal(status, 401, key);
  }
});

test("a forged token is rejected", async () => {
  const { session } = await createUser();
  const [header, , signature] = session.access_token.split(".");
  const claims = { ...decodeClaims(session), sub: crypto.randomUUID() };
  const forged = [header, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");

  assert.deepEqual(await expectError(connect(plinth).auth.getUser(forged)), [403, "bad_jwt"]);
  const { error } = await connect(plinth).auth.getClaims(forged);
  assert.match(error.message, /signature/i);
});

test("a session is carried to another client, also when its access token has ended", async () => {
  const { session, user } = await createUser();
  const [header, , signature] = session.access_token.split(".");
  const past = Buffer.from(JSON.stringify({ ...decodeClaims(session), exp: 1 })).toString("base64url");
  const other = connect(plinth);

  await expectData(other.auth.setSession(session));
  assert.equal((await expectData(other.auth.getSession())).session.access_token, session.access_token);
  const ended = { ...session, access_token: [header, past, signature].join(".") };
  const { session: renewed } = await expectData(connect(plinth).auth.setSession(ended));

  assert.equal(renewed.user.id, user.id);
  assert.notEqual(renewed.refresh_token, session.refresh_token);
});

test("a refresh replaces both tokens and keeps the session", async () => {
  const { supabase, session } = await createUser();

  const { session: next } = await expectData(supabase.auth.refreshSession());

  assert.notEqual(next.refresh_token, session.refresh_token);
  assert.equal(decodeClaims(next).session_id, decodeClaims(session).session_id);
  assert.deepEqual(authMethods(next), ["password"]);
  const unknown = connect(plinth).auth.refreshSession({ refresh_token: "abcdefghijkl" });
  assert.deepEqual(await expectError(unknown), [400, "refresh_token_not_found"]);
});

test("a client renews its session by itself before it ends", async () => {
  const stored = new Map();
  const storage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, value),
    removeItem: (key) => stored.delete(key),
  };
  const { supabase, session } = await createUser({ persistSession: true, storage });
  const events = new EventEmitter();
  supabase.auth.onAuthStateChange((event, renewed) => events.emit(event, renewed));
  const [[key, value]] = stored;
  const soon = Math.floor(Date.now() / 1000) + 20;
  stored.set(key, JSON.stringify({ ...JSON.parse(value), expires_at: soon }));

  const refreshed = once(events, "TOKEN_REFRESHED");
  await supabase.auth.startAutoRefresh();
  const [renewed] = await refreshed;
  await supabase.auth.stopAutoRefresh();

  assert.notEqual(renewed.refresh_token, session.refresh_token);
  assert.ok(renewed.expires_at > soon);
  await supabase.auth.dispose();
});

test("many tabs may renew one session at once", async () => {
  const { session } = await createUser();
  const tabs = Array.from({ length: 20 }, () => connect(plinth));

  const renewed = await Promise.all(tabs.map((tab) => expectData(tab.auth.refreshSession(session))));

  const sessions = new Set(renewed.map((data) => decodeClaims(data.session).session_id));
  assert.equal(sessions.size, 1);
  await expectData(connect(plinth).auth.refreshSession(renewed.at(-1).session));
});

test("what a user knows about themselves is merged, and theirs alone to write", async () => {
  const { supabase } = await createUser();
  await expectData(supabase.auth.updateUser({ data: { nick: "ann", pet: "cat" } }));

  const { user } = await expectData(supabase.auth.updateUser({ data: { pet: null, town: "Rome" } }));

  assert.equal(user.user_metadata.nick, "ann");
  assert.equal(user.user_metadata.town, "Rome");
  assert.ok(!("pet" in user.user_metadata));
  assert.deepEqual(await expectError(connect(plinth).auth.updateUser({ data: {} })), [400, undefined]);
});

test("a new password ends the other sessions, not this one", async () => {
  const { ann, supabase, session } = await createUser();
  const phone = await signIn(ann);
  assert.deepEqual(await expectError(supabase.auth.updateUser({ password: ann.password })), [
    422,
    "same_password",
  ]);

  await expectData(supabase.auth.updateUser({ password: "battery staple" }));

  assert.equal(await isSessionValid(plinth, session), true);
  assert.equal(await isSessionValid(plinth, phone.session), false);
});

test("signing out ends one session, the others, or all", async () => {
  const { ann } = await createUser();
  const devices = async () => [await signIn(ann), await signIn(ann), await signIn(ann)];
  const scopes = {
    local: [false, true, true],
    others: [true, false, false],
    global: [false, false, false],
  };

  for (const [scope, expected] of Object.entries(scopes)) {
    const all = await devices();
    const { error } = await all[0].supabase.auth.signOut({ scope });
    assert.equal(error, null);
    const alive = await Promise.all(all.map(({ session }) => isSessionValid(plinth, session)));
    assert.deepEqual(alive, expected, scope);
  }
});

test("a session that was ended elsewhere is forgotten here", async () => {
  const { ann, supabase } = await createUser();
  const { supabase: other } = await signIn(ann);
  await other.auth.signOut({ scope: "global" });

  const { error } = await supabase.auth.getUser();

  assert.equal(error.name, "AuthSessionMissingError");
  const { session } = await expectData(supabase.auth.getSession());
  assert.equal(session, null);
});

test("auth state listeners receive session events until they unsubscribe", async () => {
  const { ann, supabase } = await createUser();
  const notified = [];
  const { data } = supabase.auth.onAuthStateChange((event) => notified.push(event));
  await supabase.auth.initialize();

  await expectData(supabase.auth.refreshSession());
  await expectData(supabase.auth.updateUser({ data: { nick: "ann" } }));
  await supabase.auth.signOut();
  data.subscription.unsubscribe();
  await expectData(supabase.auth.signInWithPassword(ann));

  assert.deepEqual(notified, ["INITIAL_SESSION", "TOKEN_REFRESHED", "USER_UPDATED", "SIGNED_OUT"]);
});

test("a client may throw instead of returning an error", async () => {
  const supabase = connect(plinth, { throwOnError: true });

  assert.equal(supabase.auth.isThrowOnErrorEnabled(), true);
  await assert.rejects(supabase.auth.signInWithPassword({ ...newUser(), password: "wrong" }), {
    code: "invalid_credentials",
  });
});
