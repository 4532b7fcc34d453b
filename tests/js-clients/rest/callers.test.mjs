// Row-level security by caller: both kinds of API keys, signed-in users, and invalid tokens.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { column, expectData, expectError, signToken, startRegister } from "./support.mjs";

const ada = "00000000-0000-0000-0000-00000000000a";
const rui = "00000000-0000-0000-0000-00000000000b";

let register;
before(async () => {
  register = await startRegister();
});
after(() => register?.stop());

const roleOf = async (client) => (await expectData(client.rpc("whoami"))).role;

test("each key is its role, whether opaque or signed", async () => {
  const { publishable, secret, anon, serviceRole } = register.keys;

  assert.equal(await roleOf(register.client(publishable)), "anon");
  assert.equal(await roleOf(register.client(anon)), "anon");
  assert.equal(await roleOf(register.client(secret)), "service_role");
  assert.equal(await roleOf(register.client(serviceRole)), "service_role");
});

test("a key that only looks like one opens nothing", async () => {
  for (const key of [`${register.keys.secret}x`, "sb_secret_forged", "sb_publishable_forged"]) {
    const { status, message, hint } = await expectError(register.client(key).from("ships").select());
    assert.deepEqual([status, message], [401, "Invalid API key"], key);
    assert.match(hint, /Double check your Supabase/);
  }
});

test("a signed-in user is whom the token names", async () => {
  const { role, claims } = await expectData(register.clientWithClaims({ sub: ada, team: "north" }).rpc("whoami"));

  assert.equal(role, "authenticated");
  assert.deepEqual([claims.sub, claims.team, claims.role], [ada, "north", "authenticated"]);
});

test("policies give everyone their own rows, and the service all", async () => {
  const page = (client, text) => expectData(client.from("diary").insert({ page: text }));
  const pages = (client) => column("page", client.from("diary").select("page").order("page"));
  const [asAda, asRui] = [register.clientWithClaims({ sub: ada }), register.clientWithClaims({ sub: rui })];
  await page(asAda, "a");
  await page(asRui, "r");

  assert.deepEqual(await pages(asAda), ["a"]);
  assert.deepEqual(await pages(asRui), ["r"]);
  assert.deepEqual(await pages(register.client()), []);
  for (const key of [register.keys.secret, register.keys.serviceRole]) {
    assert.deepEqual(await pages(register.client(key)), ["a", "r"]);
  }
});

test("a row in another's name is rejected, and another's row cannot be touched", async () => {
  const asAda = register.clientWithClaims({ sub: ada });
  const forged = await expectError(asAda.from("diary").insert({ owner: rui, page: "forged" }));
  const touched = await asAda.from("diary").update({ page: "touched" }).eq("owner", rui).select();

  assert.deepEqual(forged, {
    status: 403,
    code: "42501",
    message: 'new row violates row-level security policy for table "diary"',
    details: null,
    hint: null,
  });
  assert.deepEqual(touched.data, []);
});

test("a table without grants is 401 to strangers and 403 to users", async () => {
  const ledger = (client) => client.from("ledger").select();
  const stranger = await expectError(ledger(register.client()));
  const user = await expectError(ledger(register.clientWithClaims({ sub: ada })));

  assert.deepEqual([stranger.status, stranger.code], [401, "42501"]);
  assert.deepEqual([user.status, user.code], [403, "42501"]);
  assert.equal(user.message, "permission denied for table ledger");
  assert.deepEqual(await expectData(ledger(register.client(register.keys.secret))), []);
});

test("an expired, foreign or truncated token is rejected", async () => {
  const past = Math.floor(Date.now() / 1000) - 3_600;
  const whole = signToken({ sub: ada }, register.jwtSecret);
  const cases = [
    [signToken({ sub: ada, exp: past }, register.jwtSecret), "PGRST303", "JWT expired"],
    [signToken({ sub: ada }, "x".repeat(40)), "PGRST301", "No suitable key or wrong key type"],
    [whole.slice(0, whole.lastIndexOf(".")), "PGRST301", "Expected 3 parts in JWT; got 2"],
  ];
  for (const [token, code, message] of cases) {
    const client = register.client(register.keys.publishable, { accessToken: async () => token });
    const error = await expectError(client.from("ships").select());
    assert.deepEqual([error.status, error.code, error.message], [401, code, message]);
  }
});

test("a token cannot claim a role that the project does not have", async () => {
  const { status, code } = await expectError(register.clientWithClaims({ role: "supabase_admin" }).from("ships").select());

  assert.ok([401, 403].includes(status), String(status));
  assert.ok(["22023", "42501"].includes(code), code);
});
