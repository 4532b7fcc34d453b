// What people with an account get by mail: ways in, new passwords, new addresses, codes that prove
// it is them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "postgres";

import { follow, site, somebody, startAccounts } from "../support/accounts.mjs";
import { connect, done, methodsOf, refusal } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startAccounts({ "auth.email.secure_password_change": true });
});
after(() => plinth?.stop());

/** Somebody with an account, and a client that is signed in to it. */
async function member(options) {
  const ann = somebody();
  const supabase = connect(plinth, options);
  const { user } = await done(supabase.auth.signUp(ann));
  return { ann, supabase, user };
}

test("a code signs in, and makes the account on the way", async () => {
  const { email } = somebody();
  const supabase = connect(plinth);
  const closed = { email, options: { shouldCreateUser: false } };
  assert.deepEqual(await refusal(supabase.auth.signInWithOtp(closed)), [422, "otp_disabled"]);

  await done(supabase.auth.signInWithOtp({ email, options: { data: { nick: "ann" } } }));
  const { otp: token } = await plinth.mailTo(email);
  const { user, session } = await done(supabase.auth.verifyOtp({ type: "email", email, token }));

  assert.equal(user.user_metadata.nick, "ann");
  assert.deepEqual(methodsOf(session), ["otp"]);
});

test("a magic link signs in by its hash, by its fragment, or by its code", async () => {
  const { ann, user } = await member();
  const ask = (supabase) =>
    done(supabase.auth.signInWithOtp({ email: ann.email, options: { emailRedirectTo: `${site}/in` } }));
  const byHash = connect(plinth);
  const byCode = connect(plinth, { flowType: "pkce" });

  await ask(byHash);
  const { template, tokenHash } = await plinth.mailTo(ann.email);
  const first = await done(byHash.auth.verifyOtp({ type: "magiclink", token_hash: tokenHash }));
  await ask(byHash);
  const { fragment } = await follow((await plinth.mailTo(ann.email)).link);
  await ask(byCode);
  const { landed, query } = await follow((await plinth.mailTo(ann.email)).link);
  const last = await done(byCode.auth.exchangeCodeForSession(query.get("code")));

  assert.equal(template, "magic_link");
  assert.equal(first.user.id, user.id);
  assert.equal(fragment.get("token_type"), "bearer");
  assert.ok(fragment.has("sb"));
  assert.equal(landed.pathname, "/in");
  assert.deepEqual(methodsOf(last.session), ["magiclink"]);
});

test("flows that one client has begun at the same time are told apart", async () => {
  const experimental = { appendPkceFlowIdToRedirects: true };
  const supabase = connect(plinth, { flowType: "pkce", experimental });
  const people = [somebody("ann"), somebody("bob")];
  for (const { email } of people) {
    const options = { emailRedirectTo: `${site}/in?tab=2` };
    await done(supabase.auth.signInWithOtp({ email, options }));
  }

  for (const { email } of people) {
    const { query } = await follow((await plinth.mailTo(email)).link);
    assert.equal(query.get("tab"), "2");
    const flowId = query.get("sb_flow_id");
    const { user } = await done(supabase.auth.exchangeCodeForSession(query.get("code"), { flowId }));
    assert.equal(user.email, email);
  }
});

test("a link that was used, or goes elsewhere, ends at the site with the reason or without", async () => {
  const { ann } = await member();
  const options = { emailRedirectTo: "https://evil.example/in" };
  await done(connect(plinth).auth.signInWithOtp({ email: ann.email, options }));
  const { link } = await plinth.mailTo(ann.email);

  const used = await follow(link);
  const again = await follow(link);

  assert.equal(used.landed.origin, site);
  assert.equal(again.landed.origin, site);
  assert.equal(again.fragment.get("error"), "access_denied");
  assert.equal(again.fragment.get("error_code"), "otp_expired");
  assert.equal(again.tokens.access_token, null);
});

for (const flowType of ["implicit", "pkce"]) {
  test(`a forgotten password is replaced (${flowType})`, async () => {
    const { ann } = await member();
    const supabase = connect(plinth, { flowType });
    const events = [];
    supabase.auth.onAuthStateChange((event) => events.push(event));

    await done(supabase.auth.resetPasswordForEmail(ann.email, { redirectTo: `${site}/new-password` }));
    const { template, link } = await plinth.mailTo(ann.email);
    const { landed, query, fragment, tokens } = await follow(link);
    if (flowType === "pkce") {
      await done(supabase.auth.exchangeCodeForSession(query.get("code")));
      assert.ok(events.includes("PASSWORD_RECOVERY"), events.join());
    } else {
      assert.equal(fragment.get("type"), "recovery");
      await done(supabase.auth.setSession(tokens));
    }
    await done(supabase.auth.updateUser({ password: "battery staple" }));

    assert.equal(template, "recovery");
    assert.equal(landed.pathname, "/new-password");
    assert.deepEqual(await refusal(connect(plinth).auth.signInWithPassword(ann)), [
      400,
      "invalid_credentials",
    ]);
    await done(connect(plinth).auth.signInWithPassword({ ...ann, password: "battery staple" }));
  });
}

test("the code of a recovery is enough, and a stranger's address is answered alike", async () => {
  const { ann } = await member();
  const supabase = connect(plinth);
  const known = await done(supabase.auth.resetPasswordForEmail(ann.email));
  const unknown = await done(supabase.auth.resetPasswordForEmail(somebody("nobody").email));
  assert.deepEqual(known, unknown);

  const { otp: token } = await plinth.mailTo(ann.email);
  const { user } = await done(supabase.auth.verifyOtp({ type: "recovery", email: ann.email, token }));

  assert.equal(user.email, ann.email);
});

test("where addresses need no confirmation, the new one alone confirms a change", async () => {
  const { ann, supabase } = await member();
  const next = somebody("new").email;
  await done(supabase.auth.updateUser({ email: next }));

  const { otp: token } = await plinth.mailTo(next);
  const { user } = await done(supabase.auth.verifyOtp({ type: "email_change", email: next, token }));

  assert.equal(user.email, next);
  await done(connect(plinth).auth.signInWithPassword({ ...ann, email: next }));
});

test("an address that somebody has is refused", async () => {
  const [one, other] = [await member(), await member()];

  assert.deepEqual(await refusal(one.supabase.auth.updateUser({ email: other.ann.email })), [
    422,
    "email_exists",
  ]);
});

test("after a day a new password needs a code that was just mailed", async (t) => {
  const { ann, supabase, user } = await member();
  const sql = postgres(plinth.dbUrl, { max: 1 });
  t.after(() => sql.end());
  await sql`update auth.sessions set created_at = created_at - interval '25 hours' where user_id = ${user.id}`;
  const password = "battery staple";

  assert.deepEqual(await refusal(supabase.auth.updateUser({ password })), [400, "reauthentication_needed"]);
  await done(supabase.auth.reauthenticate());
  const { otp: nonce, template } = await plinth.mailTo(ann.email);
  assert.equal(template, "reauthentication");
  const wrong = nonce === "000000" ? "000001" : "000000";
  assert.deepEqual(await refusal(supabase.auth.updateUser({ password, nonce: wrong })), [
    422,
    "reauthentication_not_valid",
  ]);
  await done(supabase.auth.updateUser({ password, nonce }));

  await done(connect(plinth).auth.signInWithPassword({ ...ann, password }));
});
