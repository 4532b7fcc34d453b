// Users with a phone number. The numbers have fixed codes, so no messages are sent.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newUser, startAccounts } from "../support/accounts.mjs";
import { authMethods, connect, connectAsAdmin, expectData, expectError } from "./support.mjs";

const code = "123456";
const numbers = ["15550100001", "15550100002", "15550100003", "15550100004"];
const [byCode, byPassword, first, second] = numbers;
const unsent = "15550100005";

let plinth;
before(async () => {
  const fixed = numbers.map((number) => [`auth.sms.test_otp."${number}"`, code]);
  plinth = await startAccounts({
    "auth.sms.enable_signup": true,
    "auth.sms.enable_confirmations": true,
    ...Object.fromEntries(fixed),
  });
});
after(() => plinth?.stop());

test("a code signs in, and makes the account on the way", async () => {
  const supabase = connect(plinth);
  await expectData(supabase.auth.signInWithOtp({ phone: `+${byCode}` }));

  const wrong = { type: "sms", phone: byCode, token: "654321" };
  assert.deepEqual(await expectError(supabase.auth.verifyOtp(wrong)), [403, "otp_expired"]);
  const { user, session } = await expectData(
    supabase.auth.verifyOtp({ type: "sms", phone: `+${byCode}`, token: code }),
  );

  assert.equal(user.phone, byCode);
  assert.ok(user.phone_confirmed_at);
  assert.deepEqual(user.app_metadata, { provider: "phone", providers: ["phone"] });
  assert.deepEqual(authMethods(session), ["otp"]);
});

test("an account with a password waits for its code, which may be sent again", async () => {
  const supabase = connect(plinth);
  const ann = { phone: `+${byPassword}`, password: "correct horse" };

  const { session } = await expectData(supabase.auth.signUp(ann));
  assert.equal(session, null);
  assert.deepEqual(await expectError(supabase.auth.signInWithPassword(ann)), [400, "phone_not_confirmed"]);
  await expectData(supabase.auth.resend({ type: "sms", phone: ann.phone }));
  await expectData(supabase.auth.verifyOtp({ type: "sms", phone: ann.phone, token: code }));

  await expectData(connect(plinth).auth.signInWithPassword(ann));
});

test("a number is added and changed once its code is shown", async () => {
  const supabase = connect(plinth);
  const { user } = await expectData(supabase.auth.signUp(newUser()));

  for (const phone of [first, second]) {
    const pending = await expectData(supabase.auth.updateUser({ phone }));
    assert.equal(pending.user.new_phone, phone);
    await expectData(supabase.auth.resend({ type: "phone_change", phone }));
    const changed = await expectData(supabase.auth.verifyOtp({ type: "phone_change", phone, token: code }));
    assert.equal(changed.user.id, user.id);
    assert.equal(changed.user.phone, phone);
  }

  const { identities } = await expectData(supabase.auth.getUserIdentities());
  assert.deepEqual(identities.map(({ provider }) => provider).sort(), ["email", "phone"]);
});

test("an invalid number, and a message that cannot be sent, are rejected without creating a user", async () => {
  const supabase = connect(plinth);
  const bad = supabase.auth.signInWithOtp({ phone: "call me" });
  assert.deepEqual(await expectError(bad), [400, "validation_failed"]);

  const { error } = await supabase.auth.signInWithOtp({ phone: unsent });
  assert.ok(error);

  const { users } = await expectData(connectAsAdmin(plinth).auth.admin.listUsers());
  assert.ok(!users.some(({ phone }) => phone === unsent));
});
