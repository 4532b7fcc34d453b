// Second factors, and what the database makes of them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { somebody, startAccounts } from "../support/accounts.mjs";
import { totp } from "../support/totp.mjs";
import { claimsOf, connect, connectAsAdmin, done, methodsOf, refusal } from "./support.mjs";

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

-- Messages to phones end here instead of being sent.
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

async function member() {
  const ann = somebody();
  const supabase = connect(plinth);
  const { user } = await done(supabase.auth.signUp(ann));
  return { ann, supabase, user };
}

/** Somebody with an authenticator app, signed in with both factors. */
async function protectedMember() {
  const { ann, supabase, user } = await member();
  const { id: factorId, totp: app } = await done(supabase.auth.mfa.enroll({ factorType: "totp" }));
  await done(supabase.auth.mfa.challengeAndVerify({ factorId, code: totp(app.secret) }));
  return { ann, supabase, user, factorId, secret: app.secret };
}

// A code counts once, so that whoever needs a second one takes that of the next half minute.
const nextCode = (secret) => totp(secret, Date.now() + 30_000);

test("an authenticator app is enrolled, challenged and verified", async () => {
  const { ann, supabase } = await member();
  const enrolled = await done(
    supabase.auth.mfa.enroll({ factorType: "totp", friendlyName: "phone", issuer: "Notes" }),
  );
  assert.match(enrolled.totp.qr_code, /^data:image\/svg\+xml;utf-8,.*<svg/);
  assert.match(enrolled.totp.uri, /^otpauth:\/\/totp\/Notes:/);
  assert.ok(decodeURIComponent(enrolled.totp.uri).includes(ann.email));
  const factorId = enrolled.id;
  const pending = await done(supabase.auth.mfa.listFactors());
  assert.deepEqual([pending.all.length, pending.totp.length], [1, 0]);

  const { id: challengeId } = await done(supabase.auth.mfa.challenge({ factorId }));
  const code = totp(enrolled.totp.secret);
  const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, "0");
  const guess = supabase.auth.mfa.verify({ factorId, challengeId, code: wrong });
  assert.deepEqual(await refusal(guess), [422, "mfa_verification_failed"]);
  const session = await done(supabase.auth.mfa.verify({ factorId, challengeId, code }));

  assert.equal(claimsOf(session).aal, "aal2");
  assert.deepEqual(methodsOf(session), ["totp", "password"]);
  const { totp: apps } = await done(supabase.auth.mfa.listFactors());
  assert.deepEqual(
    apps.map(({ id, friendly_name }) => [id, friendly_name]),
    [[factorId, "phone"]],
  );
});

test("the level of assurance rises with the second factor", async () => {
  const { ann, supabase, factorId, secret } = await protectedMember();
  const level = async (client) => {
    const { currentLevel, nextLevel } = await done(client.auth.mfa.getAuthenticatorAssuranceLevel());
    return [currentLevel, nextLevel];
  };
  const other = connect(plinth);
  await done(other.auth.signInWithPassword(ann));

  assert.deepEqual(await level(supabase), ["aal2", "aal2"]);
  assert.deepEqual(await level(other), ["aal1", "aal2"]);
  const password = other.auth.updateUser({ password: "battery staple" });
  assert.deepEqual(await refusal(password), [401, "insufficient_aal"]);
  const used = other.auth.mfa.challengeAndVerify({ factorId, code: totp(secret) });
  assert.deepEqual(await refusal(used), [422, "mfa_verification_failed"]);
  await done(other.auth.mfa.challengeAndVerify({ factorId, code: nextCode(secret) }));
  assert.deepEqual(await level(other), ["aal2", "aal2"]);

  const { session } = await done(other.auth.refreshSession());
  assert.equal(claimsOf(session).aal, "aal2");
});

test("only both factors remove one of them, and then one is enough", async () => {
  const { ann, supabase, factorId } = await protectedMember();
  const other = connect(plinth);
  await done(other.auth.signInWithPassword(ann));

  const thief = other.auth.mfa.unenroll({ factorId });
  assert.deepEqual(await refusal(thief), [422, "insufficient_aal"]);
  assert.deepEqual(await done(supabase.auth.mfa.unenroll({ factorId })), { id: factorId });

  const { session } = await done(supabase.auth.refreshSession());
  assert.equal(claimsOf(session).aal, "aal1");
  const { all } = await done(supabase.auth.mfa.listFactors());
  assert.deepEqual(all, []);
});

test("a phone is a second factor, too", async () => {
  const { supabase, user } = await member();
  const lastCode = async () => {
    const messages = connectAsAdmin(plinth).from("messages").select("code").eq("user_id", user.id);
    return (await done(messages.order("id", { ascending: false }).limit(1).single())).code;
  };
  const phone = "+15550100009";
  const { id: factorId } = await done(
    supabase.auth.mfa.enroll({ factorType: "phone", phone, friendlyName: "mobile" }),
  );

  const { id: challengeId } = await done(supabase.auth.mfa.challenge({ factorId, channel: "sms" }));
  const code = await lastCode();
  const session = await done(supabase.auth.mfa.verify({ factorId, challengeId, code }));

  assert.deepEqual(methodsOf(session), ["mfa/phone", "password"]);
  const { phone: phones } = await done(supabase.auth.mfa.listFactors());
  assert.deepEqual(
    phones.map((factor) => [factor.id, factor.phone]),
    [[factorId, "15550100009"]],
  );
});

test("an administrator sees factors and takes lost ones away", async () => {
  const { ann, user, factorId } = await protectedMember();
  const { mfa } = connectAsAdmin(plinth).auth.admin;

  const { factors } = await done(mfa.listFactors({ userId: user.id }));
  assert.deepEqual(
    factors.map(({ id, status }) => [id, status]),
    [[factorId, "verified"]],
  );
  assert.ok(!("secret" in factors[0]));
  await done(mfa.deleteFactor({ userId: user.id, id: factorId }));

  const other = connect(plinth);
  await done(other.auth.signInWithPassword(ann));
  const { nextLevel } = await done(other.auth.mfa.getAuthenticatorAssuranceLevel());
  assert.equal(nextLevel, "aal1");
});

test("policies see who is signed in", async () => {
  const [ann, bob] = [await member(), await member()];
  const texts = async ({ supabase }) =>
    (await done(supabase.from("notes").select("text"))).map(({ text }) => text);

  await done(ann.supabase.from("notes").insert({ text: "ann's" }));
  await done(bob.supabase.from("notes").insert({ text: "bob's" }));
  const { error } = await ann.supabase.from("notes").insert({ text: "forged", owner: bob.user.id });

  assert.equal(error.code, "42501");
  assert.deepEqual(await texts(ann), ["ann's"]);
  assert.deepEqual(await texts(bob), ["bob's"]);
  assert.deepEqual(await texts({ supabase: connect(plinth) }), []);
  await ann.supabase.auth.signOut();
  assert.deepEqual(await texts(ann), []);
});

test("policies see with how many factors", async () => {
  const { ann, supabase, factorId, secret } = await protectedMember();
  await done(supabase.from("secrets").insert({ text: "the treasure" }));
  const other = connect(plinth);
  await done(other.auth.signInWithPassword(ann));

  assert.deepEqual(await done(other.from("secrets").select("text")), []);
  const { error } = await other.from("secrets").insert({ text: "too early" });
  assert.equal(error.code, "42501");
  await done(other.auth.mfa.challengeAndVerify({ factorId, code: nextCode(secret) }));

  assert.deepEqual(await done(other.from("secrets").select("text")), [{ text: "the treasure" }]);
});
