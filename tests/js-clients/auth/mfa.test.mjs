// MFA, and its effect in the database (`aal` claims in policies).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser, startAccounts } from "../support/accounts.mjs";
import { totp } from "../support/totp.mjs";
import { authMethods, connect, connectAsAdmin, decodeClaims, expectData, expectError } from "./support.mjs";

const tables = `
create table public.notes (
  id bigint generated always as identity primary key,
  owner uuid not null default auth.uid(),
  text text not null
);
alter table public.notes enable row level security;
create policy "one's own" on public.notes for all to authenticated using (owner = auth.uid());

create table public.secrets (
  id bigint generated always as identity primary key,
  owner uuid not null default auth.uid(),
  text text not null
);
alter table public.secrets enable row level security;
create policy "one's own" on public.secrets for all to authenticated using (owner = auth.uid());
create policy "with both factors" on public.secrets as restrictive for all to authenticated
  using (auth.jwt() ->> 'aal' = 'aal2');

grant select, insert, update, delete on public.notes, public.secrets to anon, authenticated;

-- The send-SMS hook records messages instead of sending them.
create table public.messages (
  id bigint generated always as identity primary key,
  user_id uuid not null,
  code text not null
);
alter table public.messages enable row level security;
grant select on public.messages to service_role;
create function public.keep_message(event jsonb) returns jsonb
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.messages (user_id, code)
  values ((event -> 'user' ->> 'id')::uuid, event -> 'sms' ->> 'otp');
  return '{}';
end
$$;
grant execute on function public.keep_message to supabase_auth_admin;
`;

let plinth;
before(async () => {
  plinth = await startAccounts(
    {
      "auth.mfa.phone.enroll_enabled": true,
      "auth.mfa.phone.verify_enabled": true,
      "auth.mfa.phone.max_frequency": "1ms",
      "auth.hook.send_sms.enabled": true,
      "auth.hook.send_sms.uri": "pg-functions://postgres/public/keep_message",
    },
    { "supabase/migrations/1_notes.sql": tables },
  );
});
after(() => plinth?.stop());

async function createUser() {
  const ann = newUser();
  const supabase = connect(plinth);
  const { user } = await expectData(supabase.auth.signUp(ann));
  return { ann, supabase, user };
}

/** A user with a TOTP factor and an `aal2` session. */
async function createUserWithTotp() {
  const { ann, supabase, user } = await createUser();
  const { id: factorId, totp: app } = await expectData(supabase.auth.mfa.enroll({ factorType: "totp" }));
  await expectData(supabase.auth.mfa.challengeAndVerify({ factorId, code: totp(app.secret) }));
  return { ann, supabase, user, factorId, secret: app.secret };
}

// A code is valid once; a second one is taken from the next period.
const nextCode = (secret) => totp(secret, Date.now() + 30_000);

test("an authenticator app is enrolled, challenged and verified", async () => {
  const { ann, supabase } = await createUser();
  const enrolled = await expectData(
    supabase.auth.mfa.enroll({ factorType: "totp", friendlyName: "phone", issuer: "Notes" }),
  );
  assert.match(enrolled.totp.qr_code, /^data:image\/svg\+xml;utf-8,.*<svg/);
  assert.match(enrolled.totp.uri, /^otpauth:\/\/totp\/Notes:/);
  assert.ok(decodeURIComponent(enrolled.totp.uri).includes(ann.email));
  const factorId = enrolled.id;
  const pending = await expectData(supabase.auth.mfa.listFactors());
  assert.deepEqual([pending.all.length, pending.totp.length], [1, 0]);

  const { id: challengeId } = await expectData(supabase.auth.mfa.challenge({ factorId }));
  const code = totp(enrolled.totp.secret);
  const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, "0");
  const guess = supabase.auth.mfa.verify({ factorId, challengeId, code: wrong });
  assert.deepEqual(await expectError(guess), [422, "mfa_verification_failed"]);
  const session = await expectData(supabase.auth.mfa.verify({ factorId, challengeId, code }));

  assert.equal(decodeClaims(session).aal, "aal2");
  assert.deepEqual(authMethods(session), ["totp", "password"]);
  const { totp: apps } = await expectData(supabase.auth.mfa.listFactors());
  assert.deepEqual(
    apps.map(({ id, friendly_name }) => [id, friendly_name]),
    [[factorId, "phone"]],
  );
});

test("the level of assurance rises with the second factor", async () => {
  const { ann, supabase, factorId, secret } = await createUserWithTotp();
  const level = async (client) => {
    const { currentLevel, nextLevel } = await expectData(client.auth.mfa.getAuthenticatorAssuranceLevel());
    return [currentLevel, nextLevel];
  };
  const other = connect(plinth);
  await expectData(other.auth.signInWithPassword(ann));

  assert.deepEqual(await level(supabase), ["aal2", "aal2"]);
  assert.deepEqual(await level(other), ["aal1", "aal2"]);
  const password = other.auth.updateUser({ password: "battery staple" });
  assert.deepEqual(await expectError(password), [401, "insufficient_aal"]);
  const used = other.auth.mfa.challengeAndVerify({ factorId, code: totp(secret) });
  assert.deepEqual(await expectError(used), [422, "mfa_verification_failed"]);
  await expectData(other.auth.mfa.challengeAndVerify({ factorId, code: nextCode(secret) }));
  assert.deepEqual(await level(other), ["aal2", "aal2"]);

  const { session } = await expectData(other.auth.refreshSession());
  assert.equal(decodeClaims(session).aal, "aal2");
});

test("only both factors remove one of them, and then one is enough", async () => {
  const { ann, supabase, factorId } = await createUserWithTotp();
  const other = connect(plinth);
  await expectData(other.auth.signInWithPassword(ann));

  const thief = other.auth.mfa.unenroll({ factorId });
  assert.deepEqual(await expectError(thief), [422, "insufficient_aal"]);
  assert.deepEqual(await expectData(supabase.auth.mfa.unenroll({ factorId })), { id: factorId });

  const { session } = await expectData(supabase.auth.refreshSession());
  assert.equal(decodeClaims(session).aal, "aal1");
  const { all } = await expectData(supabase.auth.mfa.listFactors());
  assert.deepEqual(all, []);
});

test("a phone is a second factor, too", async () => {
  const { supabase, user } = await createUser();
  const lastCode = async () => {
    const messages = connectAsAdmin(plinth).from("messages").select("code").eq("user_id", user.id);
    return (await expectData(messages.order("id", { ascending: false }).limit(1).single())).code;
  };
  const phone = "+15550100009";
  const { id: factorId } = await expectData(
    supabase.auth.mfa.enroll({ factorType: "phone", phone, friendlyName: "mobile" }),
  );

  const { id: challengeId } = await expectData(supabase.auth.mfa.challenge({ factorId, channel: "sms" }));
  const code = await lastCode();
  const session = await expectData(supabase.auth.mfa.verify({ factorId, challengeId, code }));

  assert.deepEqual(authMethods(session), ["mfa/phone", "password"]);
  const { phone: phones } = await expectData(supabase.auth.mfa.listFactors());
  assert.deepEqual(
    phones.map((factor) => [factor.id, factor.phone]),
    [[factorId, "15550100009"]],
  );
});

test("an administrator sees factors and takes lost ones away", async () => {
  const { ann, user, factorId } = await createUserWithTotp();
  const { mfa } = connectAsAdmin(plinth).auth.admin;

  const { factors } = await expectData(mfa.listFactors({ userId: user.id }));
  assert.deepEqual(
    factors.map(({ id, status }) => [id, status]),
    [[factorId, "verified"]],
  );
  assert.ok(!("secret" in factors[0]));
  await expectData(mfa.deleteFactor({ userId: user.id, id: factorId }));

  const other = connect(plinth);
  await expectData(other.auth.signInWithPassword(ann));
  const { nextLevel } = await expectData(other.auth.mfa.getAuthenticatorAssuranceLevel());
  assert.equal(nextLevel, "aal1");
});

test("policies see who is signed in", async () => {
  const [ann, bob] = [await createUser(), await createUser()];
  const texts = async ({ supabase }) =>
    (await expectData(supabase.from("notes").select("text"))).map(({ text }) => text);

  await expectData(ann.supabase.from("notes").insert({ text: "ann's" }));
  await expectData(bob.supabase.from("notes").insert({ text: "bob's" }));
  const { error } = await ann.supabase.from("notes").insert({ text: "forged", owner: bob.user.id });

  assert.equal(error.code, "42501");
  assert.deepEqual(await texts(ann), ["ann's"]);
  assert.deepEqual(await texts(bob), ["bob's"]);
  assert.deepEqual(await texts({ supabase: connect(plinth) }), []);
  await ann.supabase.auth.signOut();
  assert.deepEqual(await texts(ann), []);
});

test("policies see with how many factors", async () => {
  const { ann, supabase, factorId, secret } = await createUserWithTotp();
  await expectData(supabase.from("secrets").insert({ text: "the treasure" }));
  const other = connect(plinth);
  await expectData(other.auth.signInWithPassword(ann));

  assert.deepEqual(await expectData(other.from("secrets").select("text")), []);
  const { error } = await other.from("secrets").insert({ text: "too early" });
  assert.equal(error.code, "42501");
  await expectData(other.auth.mfa.challengeAndVerify({ factorId, code: nextCode(secret) }));

  assert.deepEqual(await expectData(other.from("secrets").select("text")), [{ text: "the treasure" }]);
});

test("signing out others without the second factor is an error that the client shows", async () => {
  const { ann, supabase } = await createUserWithTotp();
  const elsewhere = connect(plinth);
  await expectData(elsewhere.auth.signInWithPassword(ann));

  const error = await expectError(elsewhere.auth.signOut({ scope: "others" }));

  assert.deepEqual(error, [422, "insufficient_aal"]);

  await expectData(supabase.auth.getUser());
  await expectData(elsewhere.auth.getUser());
});
