// The admin API, with the secret key.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { followMailLink, newUser, site, startAccounts } from "../support/accounts.mjs";
import { connect, connectAsAdmin, expectData, expectError, isSessionValid } from "./support.mjs";

let plinth;
let admin;
before(async () => {
  plinth = await startAccounts({ "auth.email.enable_confirmations": true });
  admin = connectAsAdmin(plinth).auth.admin;
});
after(() => plinth?.stop());

/** A confirmed user. */
async function createUser() {
  const ann = newUser();
  const { user } = await expectData(admin.createUser({ ...ann, email_confirm: true }));
  return { ann, user };
}

async function signIn(ann) {
  const supabase = connect(plinth);
  const { session } = await expectData(supabase.auth.signInWithPassword(ann));
  return { supabase, session };
}

test("an account is made as described, and read back", async () => {
  const ann = newUser();
  const described = {
    ...ann,
    phone: "15550100011",
    email_confirm: true,
    user_metadata: { nick: "ann" },
    app_metadata: { plan: "gold" },
  };

  const { user } = await expectData(admin.createUser(described));
  const read = await expectData(admin.getUserById(user.id));

  assert.deepEqual([user.email, user.phone], [ann.email, "15550100011"]);
  assert.deepEqual(user.user_metadata, { nick: "ann", email_verified: true });
  assert.equal(user.app_metadata.plan, "gold");
  assert.ok(user.email_confirmed_at);
  assert.equal(user.phone_confirmed_at, undefined);
  assert.deepEqual(read.user, user);
  assert.deepEqual(await expectError(admin.createUser(ann)), [422, "email_exists"]);
  await signIn(ann);
});

test("other callers are rejected", async () => {
  const { ann } = await createUser();
  const { session } = await signIn(ann);
  const asUser = connect(plinth, {}, plinth.keys.publishable);
  await expectData(asUser.auth.setSession(session));

  assert.deepEqual(await expectError(connect(plinth).auth.admin.listUsers()), [403, "not_admin"]);
  assert.deepEqual(await expectError(asUser.auth.admin.listUsers()), [403, "not_admin"]);
});

test("accounts are listed in pages, the newest first", async () => {
  const made = [];
  for (let count = 0; count < 5; count += 1) made.push((await createUser()).user.id);

  const { total } = await expectData(admin.listUsers({ perPage: 1 }));
  const first = await expectData(admin.listUsers({ page: 1, perPage: 2 }));
  const second = await expectData(admin.listUsers({ page: 2, perPage: 2 }));
  const last = await expectData(admin.listUsers({ page: Math.ceil(total / 2), perPage: 2 }));

  assert.ok(total >= 5);
  assert.deepEqual([first.nextPage, first.lastPage, first.total], [2, Math.ceil(total / 2), total]);
  assert.equal(second.nextPage, total > 4 ? 3 : null);
  assert.equal(last.nextPage, null);
  const newest = [...first.users, ...second.users].map(({ id }) => id);
  assert.deepEqual(newest, made.reverse().slice(0, 4));
  assert.equal(first.aud, "authenticated");
});

test("an account is changed at once, without anybody's confirmation", async () => {
  const { ann, user } = await createUser();
  const { session } = await signIn(ann);
  const next = newUser("next");

  const changed = await expectData(
    admin.updateUserById(user.id, {
      ...next,
      user_metadata: { nick: "ann" },
      app_metadata: { plan: "gold" },
    }),
  );

  assert.equal(changed.user.email, next.email);
  assert.equal(changed.user.user_metadata.nick, "ann");
  assert.equal(changed.user.app_metadata.plan, "gold");
  assert.equal(await isSessionValid(plinth, session), false);
  await signIn(next);
  const other = await createUser();
  assert.deepEqual(await expectError(admin.updateUserById(user.id, { email: other.ann.email })), [
    422,
    "email_exists",
  ]);
});

test("a ban holds until it is lifted", async () => {
  const { ann, user } = await createUser();
  const { session } = await signIn(ann);

  const banned = await expectData(admin.updateUserById(user.id, { ban_duration: "24h" }));
  assert.ok(Date.parse(banned.user.banned_until) > Date.now());
  assert.deepEqual(await expectError(connect(plinth).auth.signInWithPassword(ann)), [400, "user_banned"]);
  assert.deepEqual(await expectError(connect(plinth).auth.refreshSession(session)), [400, "user_banned"]);
  await expectData(admin.updateUserById(user.id, { ban_duration: "none" }));

  await signIn(ann);
});

test("an account is removed, or only made unrecognisable", async () => {
  const [gone, faded] = [await createUser(), await createUser()];

  await expectData(admin.deleteUser(gone.user.id));
  await expectData(admin.deleteUser(faded.user.id, true));

  assert.deepEqual(await expectError(admin.getUserById(gone.user.id)), [404, "user_not_found"]);
  const { user } = await expectData(admin.getUserById(faded.user.id));
  assert.ok(user.deleted_at);
  assert.ok(!JSON.stringify(user).includes(faded.ann.email));
  for (const { ann } of [gone, faded]) {
    assert.deepEqual(await expectError(connect(plinth).auth.signInWithPassword(ann)), [
      400,
      "invalid_credentials",
    ]);
  }
});

test("a session is ended with its token", async () => {
  const { ann } = await createUser();
  const [one, other] = [await signIn(ann), await signIn(ann)];

  await expectData(admin.signOut(one.session.access_token, "others"));
  assert.deepEqual(
    [await isSessionValid(plinth, one.session), await isSessionValid(plinth, other.session)],
    [true, false],
  );
  await expectData(admin.signOut(one.session.access_token, "global"));
  assert.equal(await isSessionValid(plinth, one.session), false);
});

test("an invitation makes an account, which its mail opens", async () => {
  const { email } = newUser();

  const { user } = await expectData(
    admin.inviteUserByEmail(email, { data: { team: "north" }, redirectTo: `${site}/join` }),
  );
  const { template, tokenHash, link } = await plinth.mailTo(email);
  const supabase = connect(plinth);
  await expectData(supabase.auth.verifyOtp({ type: "invite", token_hash: tokenHash }));

  assert.ok(user.invited_at);
  assert.deepEqual(user.user_metadata, { team: "north" });
  assert.equal(template, "invite");
  assert.equal(new URL(link).searchParams.get("redirect_to"), `${site}/join`);
  await expectData(supabase.auth.updateUser({ password: "correct horse" }));
  await signIn({ email, password: "correct horse" });
  assert.deepEqual(await expectError(admin.inviteUserByEmail(email)), [422, "email_exists"]);
});

test("links are made for every purpose, and not mailed", async () => {
  const known = await createUser();
  const fresh = { signup: newUser(), invite: newUser(), magiclink: newUser() };
  const cases = [
    [{ type: "signup", ...fresh.signup }, "signup"],
    [{ type: "invite", email: fresh.invite.email }, "invite"],
    [{ type: "magiclink", email: fresh.magiclink.email }, "signup"],
    [{ type: "magiclink", email: known.ann.email }, "magiclink"],
    [{ type: "recovery", email: known.ann.email }, "recovery"],
  ];

  for (const [params, verificationType] of cases) {
    const options = { redirectTo: `${site}/in`, data: { nick: "ann" } };
    const { properties, user } = await expectData(admin.generateLink({ ...params, options }));
    assert.equal(properties.verification_type, verificationType);
    assert.equal(properties.redirect_to, `${site}/in`);
    assert.match(properties.email_otp, /^\d{6}$/);
    assert.equal(user.email, params.email);
    await assert.rejects(plinth.mailTo(params.email), /no mail/);

    const { target, tokens } = await followMailLink(properties.action_link);
    assert.equal(target.pathname, "/in");
    const session = await expectData(connect(plinth).auth.getUser(tokens.access_token));
    assert.equal(session.user.id, user.id);
  }
});

test("the code and the hash of a link are as good as the link", async () => {
  const { ann } = await createUser();
  const link = () => expectData(admin.generateLink({ type: "recovery", email: ann.email }));

  const { properties: first } = await link();
  const byCode = { type: "recovery", email: ann.email, token: first.email_otp };
  await expectData(connect(plinth).auth.verifyOtp(byCode));
  const { properties: second } = await link();
  const byHash = { type: "recovery", token_hash: second.hashed_token };
  await expectData(connect(plinth).auth.verifyOtp(byHash));
});

test("a change of address is linked from both sides", async () => {
  const { ann, user } = await createUser();
  const next = newUser("next").email;
  const link = (type) => expectData(admin.generateLink({ type, email: ann.email, newEmail: next }));

  const links = [await link("email_change_current"), await link("email_change_new")];
  const [half, whole] = links.map(({ properties }) => ({
    type: "email_change",
    token_hash: properties.hashed_token,
  }));
  const { session } = await expectData(connect(plinth).auth.verifyOtp(half));
  assert.equal(session, null);
  await expectData(connect(plinth).auth.verifyOtp(whole));

  const changed = await expectData(admin.getUserById(user.id));
  assert.equal(changed.user.email, next);
});

test("a link for an unknown user is rejected", async () => {
  const { email } = newUser("nobody");

  assert.deepEqual(await expectError(admin.generateLink({ type: "recovery", email })), [404, "user_not_found"]);
});
