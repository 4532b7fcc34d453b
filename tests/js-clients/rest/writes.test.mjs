// Insert, upsert, update and delete, and limits on affected rows.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { column, expectData, expectError, startRegister } from "./support.mjs";

let register;
before(async () => {
  register = await startRegister();
});
after(() => register?.stop());

const from = (table) => register.client().from(table);
const shipsNamed = (pattern) => from("ships").select("name, tons").like("name", pattern).order("name");

test("insert has an empty response by default", async () => {
  const quiet = await from("ships").insert({ name: "insert-1" });
  const asked = await from("ships").insert({ name: "insert-2" }).select("name, tons, harbours(name)");

  assert.deepEqual([quiet.status, quiet.data, quiet.error], [201, null, null]);
  assert.equal(asked.status, 201);
  assert.deepEqual(asked.data, [{ name: "insert-2", tons: 100, harbours: null }]);
  assert.deepEqual(await column("name", shipsNamed("insert-%")), ["insert-1", "insert-2"]);
});

test("rows of one insert may have different keys: missing ones are null", async () => {
  await expectData(from("ships").insert([{ name: "bulk-1" }, { name: "bulk-2", tons: 7 }]));

  assert.deepEqual(await expectData(shipsNamed("bulk-%")), [
    { name: "bulk-1", tons: null },
    { name: "bulk-2", tons: 7 },
  ]);
});

test("missing keys take the default when null is not wanted", async () => {
  await expectData(from("ships").insert([{ name: "default-1" }, { name: "default-2", tons: 7 }], { defaultToNull: false }));

  assert.deepEqual(await column("tons", shipsNamed("default-%")), [100, 7]);
});

test("an insert of no rows is none", async () => {
  const { status, data, error } = await from("ships").insert([]).select();

  assert.deepEqual([status, data, error], [201, [], null]);
});

test("insert counts its rows", async () => {
  const { count } = await from("ships").insert([{ name: "count-1" }, { name: "count-2" }], { count: "exact" });

  assert.equal(count, 2);
});

test("json, arrays, ranges and enums arrive as they were sent", async () => {
  const harbour = { name: "typed", facts: { a: [1, null] }, tags: ["x,y", '"z"'], berths: "[1,3)", weather: "storm" };
  const stored = await expectData(from("harbours").insert(harbour).select("name, facts, tags, berths, weather").single());

  assert.deepEqual(stored, harbour);
});

test("upsert merges by the primary key", async () => {
  await expectData(from("papers").upsert({ ship_id: 2, flag: "SE" }));
  const again = await from("papers").upsert({ ship_id: 2, flag: "DK" }).select();
  const mixed = await from("papers").upsert([{ ship_id: 2, flag: "FI" }, { ship_id: 4, flag: "FI" }]).select();

  assert.deepEqual([again.status, again.data], [200, [{ ship_id: 2, flag: "DK" }]]);
  assert.deepEqual([mixed.status, mixed.data.length], [201, 2]);
});

test("upsert merges by another key when requested", async () => {
  await expectData(from("harbours").insert({ name: "merged", country: "A" }));
  const merged = from("harbours").upsert({ name: "merged", country: "B" }, { onConflict: "name" });

  assert.deepEqual(await expectData(merged.select("country").single()), { country: "B" });
});

test("upsert can leave what is there", async () => {
  const kept = await from("papers").upsert({ ship_id: 1, flag: "XX" }, { ignoreDuplicates: true }).select();

  assert.deepEqual([kept.status, kept.data], [201, []]);
  assert.deepEqual(await column("flag", from("papers").select().eq("ship_id", 1)), ["NO"]);
});

test("upsert gives new rows their defaults when null is not wanted", async () => {
  const rows = [{ id: 901, name: "upsert-1" }, { id: 902, name: "upsert-2", tons: 7 }];
  await expectData(from("ships").upsert(rows, { defaultToNull: false, count: "exact" }));

  assert.deepEqual(await column("tons", shipsNamed("upsert-%")), [100, 7]);
});

test("update changes what the filter names", async () => {
  await expectData(from("ships").insert([{ name: "update-1" }, { name: "update-2" }]));
  const quiet = await from("ships").update({ tons: 1 }, { count: "exact" }).like("name", "update-%");
  const moved = await from("ships").update({ name: "update-3" }).eq("name", "update-2").select("name");
  const none = await from("ships").update({ tons: 2 }).eq("id", -1).select();

  assert.deepEqual([quiet.status, quiet.count, quiet.data], [204, 2, null]);
  assert.deepEqual(moved.data, [{ name: "update-3" }], "the changed row, though the filter no longer fits");
  assert.deepEqual([none.status, none.data], [200, []]);
});

test("delete removes what the filter names and can show it", async () => {
  await expectData(from("ships").insert([{ name: "delete-1", harbour_id: 1 }, { name: "delete-2", harbour_id: 1 }]));
  const shown = await from("ships").delete({ count: "exact" }).eq("name", "delete-1").select("name, harbours(name)");
  const quiet = await from("ships").delete().eq("name", "delete-2");

  assert.deepEqual([shown.count, shown.data], [1, [{ name: "delete-1", harbours: { name: "Bergen" } }]]);
  assert.deepEqual([quiet.status, quiet.data], [204, null]);
  assert.deepEqual(await expectData(shipsNamed("delete-%")), []);
});

test("update and delete without a filter are rejected", async () => {
  const update = await expectError(from("ships").update({ tons: 0 }));
  const remove = await expectError(from("ships").delete());

  assert.deepEqual(update, {
    status: 400,
    code: "21000",
    message: "UPDATE requires a WHERE clause",
    details: null,
    hint: null,
  });
  assert.equal(remove.message, "DELETE requires a WHERE clause");
});

test("more rows than maxAffected undo the whole change", async () => {
  await expectData(from("ships").insert([{ name: "max-1", tons: 5 }, { name: "max-2", tons: 5 }]));
  const tooMany = await expectError(from("ships").update({ tons: 6 }).like("name", "max-%").maxAffected(1));
  const enough = await from("ships").delete().like("name", "max-%").maxAffected(2).select("tons");

  assert.deepEqual(tooMany, {
    status: 400,
    code: "PGRST124",
    message: "Query result exceeds max-affected preference constraint",
    details: "The query affects 2 rows",
    hint: null,
  });
  assert.deepEqual(enough.data, [{ tons: 5 }, { tons: 5 }]);
});

test("single undoes a change of several rows", async () => {
  await expectData(from("ships").insert([{ name: "single-1", tons: 5 }, { name: "single-2", tons: 5 }]));
  const { code } = await expectError(from("ships").update({ tons: 6 }).like("name", "single-%").select().single());

  assert.equal(code, "PGRST116");
  assert.deepEqual(await column("tons", shipsNamed("single-%")), [5, 5]);
});

test("rollback shows what would happen and leaves nothing", async () => {
  const shown = await expectData(from("ships").insert({ name: "rollback-1" }).select("name").rollback());

  assert.deepEqual(shown, [{ name: "rollback-1" }]);
  assert.deepEqual(await expectData(shipsNamed("rollback-%")), []);
});

test("constraint violations are distinguished", async () => {
  const duplicate = await expectError(from("harbours").insert({ name: "Bergen" }));
  const orphan = await expectError(from("ships").insert({ name: "x", harbour_id: -1 }));
  const empty = await expectError(from("ships").insert({ tons: 1 }));
  const text = await expectError(from("ships").insert({ name: "x", tons: "heavy" }));
  const unknown = await expectError(from("ships").insert({ nam: "x" }));

  assert.deepEqual(duplicate, {
    status: 409,
    code: "23505",
    message: 'duplicate key value violates unique constraint "harbours_name_key"',
    details: "Key (name)=(Bergen) already exists.",
    hint: null,
  });
  assert.deepEqual([orphan.status, orphan.code], [409, "23503"]);
  assert.deepEqual([empty.status, empty.code], [400, "23502"]);
  assert.deepEqual([text.status, text.code], [400, "22P02"]);
  assert.deepEqual([unknown.status, unknown.code], [400, "PGRST204"]);
});
