// Sign-up with e-mail confirmation.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { followMailLink, newUser, site, startAccounts } from "../support/accounts.mjs";
import { authMethods, connect, expectData, expectError } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startAccounts({
    "auth.email.enable_confirmations": true,
    "auth.enable_anonymous_sign_ins": true,
    "auth.sms.enable_confirmations": true,
  });
});
after(() => plinth?.stop());

test("a new account waits for its confirmation", async () => {
  const ann = newUser();
  const supabase = connect(plinth);

  const { user, session } = await expectData(
    supabase.auth.signUp({ ...ann, options: { data: { nick: "ann" } } }),
  );

  assert.equal(session, null);
  assert.equal(user.email, ann.email);
  assert.equal(user.user_metadata.nick, "ann");
  assert.equal(user.user_metadata.email_verified, false);
  assert.deepEqual(
    user.identities.map(({ provider }) => provider),
    ["email"],
  );
  assert.deepEqual(await expectError(supabase.auth.signInWithPassword(ann)), [400, "email_not_confirmed"]);
});

test("the code of the mail confirms it, once", async () => {
  const ann = newUser();
  const supabase = connect(plinth);
  await expectData(supabase.auth.signUp(ann));
  const { otp: token, template } = await plinth.mailTo(ann.email);
  assert.equal(template, "confirmation");

  const wrong = { type: "signup", email: ann.email, token: token === "000000" ? "000001" : "000000" };
  assert.deepEqual(await expectError(supabase.auth.verifyOtp(wrong)), [403, "otp_expired"]);
  const proof = { type: "signup", email: ann.email, token };
  const { user, session } = await expectData(supabase.auth.verifyOtp(proof));

  assert.ok(user.email_confirmed_at);
  assert.equal(user.user_metadata.email_verified, true);
  assert.deepEqual(authMethods(session), ["otp"]);
  assert.deepEqual(await expectError(supabase.auth.verifyOtp(proof)), [403, "otp_expired"]);
  await expectData(connect(plinth).auth.signInWithPassword(ann));
});

test("the hash of the link does, too", async () => {
  const ann = newUser();
  const supabase = connect(plinth);
  await expectData(supabase.auth.signUp(ann));
  const { tokenHash } = await plinth.mailTo(ann.email);

  const { session } = await expectData(supabase.auth.verifyOtp({ type: "email", token_hash: tokenHash }));

  assert.equal(session.user.email, ann.email);
});

test("the link leads to the site, with a session in the fragment", async () => {
  const ann = newUser();
  const options = { emailRedirectTo: `${site}/welcome` };
  await expectData(connect(plinth).auth.signUp({ ...ann, options }));

  const { target, fragment, tokens } = await followMailLink((await plinth.mailTo(ann.email)).link);

  assert.equal(target.origin + target.pathname, `${site}/welcome`);
  assert.equal(fragment.get("type"), "signup");
  const { user } = await expectData(connect(plinth).auth.setSession(tokens));
  assert.equal(user.email, ann.email);
});

test("with PKCE it leads to a code, which only the browser that asked can use", async () => {
  const ann = newUser();
  const supabase = connect(plinth, { flowType: "pkce" });
  await expectData(supabase.auth.signUp(ann));

  const { query, tokens } = await followMailLink((await plinth.mailTo(ann.email)).link);
  assert.equal(tokens.access_token, null);
  const code = query.get("code");
  const thief = connect(plinth, { flowType: "pkce" });
  await expectData(thief.auth.signUp(newUser("thief")));
  assert.deepEqual(await expectError(thief.auth.exchangeCodeForSession(code)), [400, "bad_code_verifier"]);
  const { session } = await expectData(supabase.auth.exchangeCodeForSession(code));

  assert.deepEqual(authMethods(session), ["email/signup"]);
});

test("a mail that was lost is sent again, and its token replaces the first", async () => {
  const ann = newUser();
  const supabase = connect(plinth);
  await expectData(supabase.auth.signUp(ann));
  const lost = await plinth.mailTo(ann.email);

  await expectData(supabase.auth.resend({ type: "signup", email: ann.email }));
  const found = await plinth.mailTo(ann.email);

  assert.notEqual(found.id, lost.id);
  const stale = { type: "email", token_hash: lost.tokenHash };
  assert.deepEqual(await expectError(supabase.auth.verifyOtp(stale)), [403, "otp_expired"]);
  await expectData(supabase.auth.verifyOtp({ type: "email", token_hash: found.tokenHash }));
});

test("a sign-up with a confirmed address reveals nothing and sends no mail", async () => {
  const ann = newUser();
  await expectData(connect(plinth).auth.signUp(ann));
  const { id, tokenHash } = await plinth.mailTo(ann.email);
  const { user } = await expectData(connect(plinth).auth.verifyOtp({ type: "email", token_hash: tokenHash }));

  const again = await expectData(connect(plinth).auth.signUp({ ...ann, password: "battery staple" }));

  assert.equal(again.session, null);
  assert.deepEqual(again.user.identities, []);
  assert.notEqual(again.user.id, user.id);
  assert.equal((await plinth.mailTo(ann.email)).id, id);
});

test("a change of address is confirmed at the old and at the new one", async () => {
  const ann = newUser();
  const supabase = connect(plinth);
  await expectData(supabase.auth.signUp(ann));
  const { tokenHash } = await plinth.mailTo(ann.email);
  const { user } = await expectData(supabase.auth.verifyOtp({ type: "email", token_hash: tokenHash }));

  const next = newUser("new").email;
  const pending = await expectData(supabase.auth.updateUser({ email: next }));
  assert.deepEqual([pending.user.email, pending.user.new_email], [ann.email, next]);
  const lost = await plinth.mailTo(next);
  await expectData(supabase.auth.resend({ type: "email_change", email: ann.email }));
  const [atOld, atNew] = [await plinth.mailTo(ann.email), await plinth.mailTo(next)];
  assert.deepEqual([atOld.template, atNew.template], ["email_change", "email_change"]);
  assert.notEqual(atNew.id, lost.id);
  const half = await expectData(
    supabase.auth.verifyOtp({ type: "email_change", email: ann.email, token: atOld.otp }),
  );
  assert.equal(half.session, null);
  const whole = await expectData(supabase.auth.verifyOtp({ type: "email_change", token_hash: atNew.tokenHash }));

  assert.equal(whole.user.id, user.id);
  assert.deepEqual([whole.user.email, whole.user.new_email], [next, undefined]);
  await expectData(connect(plinth).auth.signInWithPassword({ ...ann, email: next }));
});

test("a weak password is rejected with its reasons", async () => {
  const { error } = await connect(plinth).auth.signUp({ ...newUser(), password: "short" });

  assert.deepEqual([error.name, error.status, error.code], ["AuthWeakPasswordError", 422, "weak_password"]);
  assert.deepEqual(error.reasons, ["length"]);
});

test("an anonymous user becomes a permanent one without losing the account", async () => {
  const ann = newUser();
  const supabase = connect(plinth);
  const guest = await expectData(supabase.auth.signInAnonymously({ options: { data: { cart: 3 } } }));
  assert.equal(guest.user.is_anonymous, true);
  assert.equal(guest.user.user_metadata.cart, 3);
  assert.deepEqual(authMethods(guest.session), ["anonymous"]);
  const early = supabase.auth.updateUser({ password: ann.password });
  assert.deepEqual(await expectError(early), [422, "validation_failed"]);

  const pending = await expectData(supabase.auth.updateUser({ email: ann.email }));
  assert.equal(pending.user.new_email, ann.email);
  const { otp: token } = await plinth.mailTo(ann.email);
  await expectData(supabase.auth.verifyOtp({ type: "email_change", email: ann.email, token }));
  const { user } = await expectData(supabase.auth.updateUser({ password: ann.password }));

  assert.equal(user.id, guest.user.id);
  assert.equal(user.is_anonymous, false);
  assert.equal(user.user_metadata.cart, 3);
  await expectData(connect(plinth).auth.signInWithPassword(ann));
});
