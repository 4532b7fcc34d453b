// RPC: every way to call a function, and every result type.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { column, expectData, expectError, startRegister } from "./support.mjs";

let register;
before(async () => {
  register = await startRegister();
});
after(() => register?.stop());

const rpc = (...args) => register.client().rpc(...args);

test("arguments go by name, and defaults may be left out", async () => {
  assert.equal(await expectData(rpc("add", { a: 1, b: 2 })), 3);
  assert.equal(await expectData(rpc("add", { a: 1 })), 2);
  assert.equal(await expectData(rpc("total", { numbers: [1, 2, 3] })), 6);
});

test("get calls without a body", async () => {
  assert.equal(await expectData(rpc("add", { a: 1, b: undefined }, { get: true })), 2);
  assert.equal(await expectData(rpc("total", { numbers: [1, 2, 3] }, { get: true })), 6);
});

test("head asks for nothing but the count", async () => {
  const response = await rpc("ships_of", { harbour: "Bergen" }, { head: true, count: "exact" });

  assert.deepEqual([response.status, response.count, response.data], [200, 2, null]);
});

test("head with an argument that no URL can carry", async () => {
  const response = await rpc("whoami", {}, { head: true });
  const nested = await rpc("total", { numbers: [{}] }, { head: true });

  assert.equal(response.error, null);
  assert.ok(nested.error, "the argument is refused, not the call");
});

test("no result is an empty response, null is null", async () => {
  const nothing = await rpc("nothing");
  const absent = await rpc("absent");

  assert.deepEqual([nothing.status, nothing.data, nothing.error], [204, null, null]);
  assert.deepEqual([absent.status, absent.data, absent.error], [200, null, null]);
});

test("a row is an object, a set is an array", async () => {
  assert.equal((await expectData(rpc("flagship"))).name, "Albatross");
  assert.deepEqual(await column("name", rpc("ships_of", { harbour: "Bergen" }).order("id")), ["Albatross", "Bittern"]);
  assert.deepEqual(await expectData(rpc("ships_of", { harbour: "nowhere" })), []);
});

test("rows of a function are selected, filtered, ordered, embedded and counted like a table's", async () => {
  const { data, count } = await rpc("ships_of", { harbour: "Bergen" }, { count: "exact" })
    .select("name, harbours(name)")
    .lt("tons", 250)
    .order("id")
    .limit(1);

  assert.deepEqual(data, [{ name: "Bittern", harbours: { name: "Bergen" } }]);
  assert.equal(count, 1);
});

test("single takes the one row out of a set", async () => {
  assert.equal((await expectData(rpc("ships_of", { harbour: "Lisbon" }).single())).name, "Curlew");
  assert.equal((await expectError(rpc("ships_of", { harbour: "Bergen" }).single())).code, "PGRST116");
});

test("what may write cannot be called by get", async () => {
  const { status, code } = await expectError(rpc("lighten", { pattern: "D%" }, { get: true }));

  assert.deepEqual([status, code], [405, "25006"]);
});

test("too many affected rows undo the call", async () => {
  const { status, code, details } = await expectError(rpc("lighten", { pattern: "%" }).maxAffected(3));

  assert.deepEqual([status, code], [400, "PGRST124"]);
  assert.equal(details, "The query affects 4 rows");
  assert.equal((await expectData(rpc("flagship"))).tons, 300);
});

test("a function that is not there, or not with these arguments, is not found", async () => {
  const unknown = await expectError(rpc("ships_off", { harbour: "Bergen" }));
  const other = await expectError(rpc("add", { c: 1 }));

  assert.deepEqual(unknown, {
    status: 404,
    code: "PGRST202",
    message: "Could not find the function public.ships_off(harbour) in the schema cache",
    details:
      "Searched for the function public.ships_off with parameter harbour or with a single unnamed " +
      "json/jsonb parameter, but no matches were found in the schema cache.",
    hint: "Perhaps you meant to call the function public.ships_of",
  });
  assert.deepEqual([other.status, other.code], [404, "PGRST202"]);
});

test("overloads that differ by type only are ambiguous", async () => {
  const { status, code, message } = await expectError(rpc("guess", { a: 1 }));

  assert.deepEqual([status, code], [300, "PGRST203"]);
  assert.match(message, /public\.guess\(a => integer\)/);
  assert.match(message, /public\.guess\(a => text\)/);
});

test("a function chooses status and body of its error", async () => {
  assert.deepEqual(await expectError(rpc("refuse")), {
    status: 418,
    code: "PT418",
    message: "no coffee",
    details: "a teapot",
    hint: "try tea",
  });
});
