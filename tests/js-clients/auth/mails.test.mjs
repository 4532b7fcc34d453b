// E-mails to users: magic links, password recovery, e-mail changes, reauthentication codes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "postgres";

import { followMailLink, newUser, site, startAccounts } from "../support/accounts.mjs";
import { authMethods, connect, expectData, expectError } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startAccounts({ "auth.email.secure_password_change": true });
});
after(() => plinth?.stop());

/** A user, and a signed-in client. */
async function createUser(options) {
  const ann = newUser();
  const supabase = connect(plinth, options);
  const { user } = await expectData(supabase.auth.signUp(ann));
  return { ann, supabase, user };
}

test("a code signs in, and makes the account on the way", async () => {
  const { email } = newUser();
  const supabase = connect(plinth);
  const closed = { email, options: { shouldCreateUser: false } };
  assert.deepEqual(await expectError(supabase.auth.signInWithOtp(closed)), [422, "otp_disabled"]);

  await expectData(supabase.auth.signInWithOtp({ email, options: { data: { nick: "ann" } } }));
  const { otp: token } = await plinth.mailTo(email);
  const { user, session } = await expectData(supabase.auth.verifyOtp({ type: "email", email, token }));

  assert.equal(user.user_metadata.nick, "ann");
  assert.deepEqual(authMethods(session), ["otp"]);
});

test("a magic link signs in by its hash, by its fragment, or by its code", async () => {
  const { ann, user } = await createUser();
  const ask = (supabase) =>
    expectData(supabase.auth.signInWithOtp({ email: ann.email, options: { emailRedirectTo: `${site}/in` } }));
  const byHash = connect(plinth);
  const byCode = connect(plinth, { flowType: "pkce" });

  await ask(byHash);
  const { template, tokenHash } = await plinth.mailTo(ann.email);
  const first = await expectData(byHash.auth.verifyOtp({ type: "magiclink", token_hash: tokenHash }));
  await ask(byHash);
  const { fragment } = await followMailLink((await plinth.mailTo(ann.email)).link);
  await ask(byCode);
  const { target, query } = await followMailLink((await plinth.mailTo(ann.email)).link);
  const last = await expectData(byCode.auth.exchangeCodeForSession(query.get("code")));

  assert.equal(template, "magic_link");
  assert.equal(first.user.id, user.id);
  assert.equal(fragment.get("token_type"), "bearer");
  assert.ok(fragment.has("sb"));
  assert.equal(target.pathname, "/in");
  assert.deepEqual(authMethods(last.session), ["magiclink"]);
});

test("concurrent flows of one client are distinguished", async () => {
  const experimental = { appendPkceFlowIdToRedirects: true };
  const supabase = connect(plinth, { flowType: "pkce", experimental });
  const people = [newUser("ann"), newUser("bob")];
  for (const { email } of people) {
    const options = { emailRedirectTo: `${site}/in?tab=2` };
    await expectData(supabase.auth.signInWithOtp({ email, options }));
  }

  for (const { email } of people) {
    const { query } = await followMailLink((await plinth.mailTo(email)).link);
    assert.equal(query.get("tab"), "2");
    const flowId = query.get("sb_flow_id");
    const { user } = await expectData(supabase.auth.exchangeCodeForSession(query.get("code"), { flowId }));
    assert.equal(user.email, email);
  }
});

test("a link that was used, or goes elsewhere, ends at the site with the reason or without", async () => {
  const { ann } = await createUser();
  const options = { emailRedirectTo: "https://evil.example/in" };
  await expectData(connect(plinth).auth.signInWithOtp({ email: ann.email, options }));
  const { link } = await plinth.mailTo(ann.email);

  const used = await followMailLink(link);
  const again = await followMailLink(link);

  assert.equal(used.target.origin, site);
  assert.equal(again.target.origin, site);
  assert.equal(again.fragment.get("error"), "access_denied");
  assert.equal(again.fragment.get("error_code"), "otp_expired");
  assert.equal(again.tokens.access_token, null);
});

for (const flowType of ["implicit", "pkce"]) {
  test(`a forgotten password is replaced (${flowType})`, async () => {
    const { ann } = await createUser();
    const supabase = connect(plinth, { flowType });
    const events = [];
    supabase.auth.onAuthStateChange((event) => events.push(event));

    await expectData(supabase.auth.resetPasswordForEmail(ann.email, { redirectTo: `${site}/new-password` }));
    const { template, link } = await plinth.mailTo(ann.email);
    const { target, query, fragment, tokens } = await followMailLink(link);
    if (flowType === "pkce") {
      await expectData(supabase.auth.exchangeCodeForSession(query.get("code")));
      assert.ok(events.includes("PASSWORD_RECOVERY"), events.join());
    } else {
      assert.equal(fragment.get("type"), "recovery");
      await expectData(supabase.auth.setSession(tokens));
    }
    await expectData(supabase.auth.updateUser({ password: "battery staple" }));

    assert.equal(template, "recovery");
    assert.equal(target.pathname, "/new-password");
    assert.deepEqual(await expectError(connect(plinth).auth.signInWithPassword(ann)), [
      400,
      "invalid_credentials",
    ]);
    await expectData(connect(plinth).auth.signInWithPassword({ ...ann, password: "battery staple" }));
  });
}

test("the code of a recovery is enough, and an unknown address gets the same response", async () => {
  const { ann } = await createUser();
  const supabase = connect(plinth);
  const known = await expectData(supabase.auth.resetPasswordForEmail(ann.email));
  const unknown = await expectData(supabase.auth.resetPasswordForEmail(newUser("nobody").email));
  assert.deepEqual(known, unknown);

  const { otp: token } = await plinth.mailTo(ann.email);
  const { user } = await expectData(supabase.auth.verifyOtp({ type: "recovery", email: ann.email, token }));

  assert.equal(user.email, ann.email);
});

test("where addresses need no confirmation, the new one alone confirms a change", async () => {
  const { ann, supabase } = await createUser();
  const next = newUser("new").email;
  await expectData(supabase.auth.updateUser({ email: next }));

  const { otp: token } = await plinth.mailTo(next);
  const { user } = await expectData(supabase.auth.verifyOtp({ type: "email_change", email: next, token }));

  assert.equal(user.email, next);
  await expectData(connect(plinth).auth.signInWithPassword({ ...ann, email: next }));
});

test("an address that is already in use is rejected", async () => {
  const [one, other] = [await createUser(), await createUser()];

  assert.deepEqual(await expectError(one.supabase.auth.updateUser({ email: other.ann.email })), [
    422,
    "email_exists",
  ]);
});

test("after a day a new password needs a code that was just mailed", async (t) => {
  const { ann, supabase, user } = await createUser();
  const sql = postgres(plinth.dbUrl, { max: 1 });
  t.after(() => sql.end());
  await sql`update auth.sessions set created_at = created_at - interval '25 hours' where user_id = ${user.id}`;
  const password = "battery staple";

  assert.deepEqual(await expectError(supabase.auth.updateUser({ password })), [
    400,
    "reauthentication_needed",
  ]);
  await expectData(supabase.auth.reauthenticate());
  const { otp: nonce, template } = await plinth.mailTo(ann.email);
  assert.equal(template, "reauthentication");
  const wrong = nonce === "000000" ? "000001" : "000000";
  assert.deepEqual(await expectError(supabase.auth.updateUser({ password, nonce: wrong })), [
    422,
    "reauthentication_not_valid",
  ]);
  await expectData(supabase.auth.updateUser({ password, nonce }));

  await expectData(connect(plinth).auth.signInWithPassword({ ...ann, password }));
});
