// Reads: columns, order, pagination, counts, and response formats.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { column, expectData, expectError, startRegister } from "./support.mjs";

let register;
before(async () => {
  register = await startRegister();
});
after(() => register?.stop());

const ships = (...args) => register.client().from("ships").select(...args);
const harbours = (...args) => register.client().from("harbours").select(...args);

test("select takes aliases, casts, paths into JSON and computed fields", async () => {
  const columns = "title:name, id::text, depth:facts->depth, red:facts->lights->>red";
  const harbour = await expectData(harbours(columns).eq("id", 1).single());
  const sailor = await expectData(register.client().from("sailors").select("full_name").eq("id", 1).single());

  assert.deepEqual(harbour, { title: "Bergen", id: "1", depth: 12, red: "2" });
  assert.deepEqual(sailor, { full_name: "Ada Holm" });
});

test("select without columns gives all of them", async () => {
  assert.deepEqual(await expectData(ships().eq("id", 1)), [{ id: 1, name: "Albatross", tons: 300, harbour_id: 1 }]);
});

test("order sorts up, down, and nulls where they are wanted", async () => {
  const sorted = (options) => column("id", ships("id").order("tons", options));

  assert.deepEqual(await sorted({ ascending: true }), [3, 2, 1, 4]);
  assert.deepEqual(await sorted({ ascending: false }), [4, 1, 2, 3]);
  assert.deepEqual(await sorted({ ascending: true, nullsFirst: true }), [4, 3, 2, 1]);
  assert.deepEqual(await sorted({ ascending: false, nullsFirst: false }), [1, 2, 3, 4]);
});

test("later orders decide where earlier ones tie", async () => {
  const sorted = ships("id").order("harbour_id").order("tons", { ascending: true });

  assert.deepEqual(await column("id", sorted), [2, 1, 3, 4]);
});

test("limit and range cut pages", async () => {
  assert.deepEqual(await column("id", ships("id").order("id").limit(2)), [1, 2]);
  assert.deepEqual(await column("id", ships("id").order("id").range(1, 2)), [2, 3]);
  assert.deepEqual(await expectData(ships("id").limit(0)), []);
});

test("counts come with a page, and alone", async () => {
  const page = await ships("id", { count: "exact" }).order("id").range(0, 1);
  const head = await ships("*", { count: "exact", head: true });
  const planned = await ships("*", { count: "planned" });
  const estimated = await ships("*", { count: "estimated" });

  assert.deepEqual([page.status, page.count, page.data.length], [206, 4, 2]);
  assert.deepEqual([head.status, head.count, head.data], [200, 4, null]);
  assert.equal(typeof planned.count, "number");
  assert.equal(typeof estimated.count, "number");
});

test("a page behind the end is an error that says how many rows there are", async () => {
  const rejection = await expectError(ships("id", { count: "exact" }).range(50, 60));

  assert.deepEqual(rejection, {
    status: 416,
    code: "PGRST103",
    message: "Requested range not satisfiable",
    details: "An offset of 50 was requested, but there are only 4 rows.",
    hint: null,
  });
});

test("single wants exactly one row", async () => {
  assert.deepEqual(await expectData(ships("name").eq("id", 1).single()), { name: "Albatross" });
  for (const [query, rows] of [
    [ships("name"), 4],
    [ships("name").eq("id", -1), 0],
  ]) {
    assert.deepEqual(await expectError(query.single()), {
      status: 406,
      code: "PGRST116",
      message: "Cannot coerce the result to a single JSON object",
      details: `The result contains ${rows} rows`,
      hint: null,
    });
  }
});

test("maybeSingle wants at most one row", async () => {
  assert.deepEqual(await expectData(ships("name").eq("id", 1).maybeSingle()), { name: "Albatross" });
  assert.equal(await expectData(ships("name").eq("id", -1).maybeSingle()), null);
  assert.equal((await expectError(ships("name").maybeSingle())).code, "PGRST116");
});

test("csv is text with a header", async () => {
  const text = await expectData(ships("id,name,tons").gte("id", 3).order("id").csv());

  assert.equal(text, "id,name,tons\n3,Curlew,100\n4,Dunlin,");
});

test("stripNulls leaves out what is null", async () => {
  assert.deepEqual(await expectData(ships().eq("id", 4).stripNulls()), [{ id: 4, name: "Dunlin" }]);
  assert.deepEqual(await expectData(ships().eq("id", 4).single().stripNulls()), { id: 4, name: "Dunlin" });
});

test("explain shows the plan in both formats", async () => {
  const text = await expectData(ships().explain());
  const [json] = await expectData(ships().explain({ format: "json", analyze: true, verbose: true, settings: true }));

  assert.match(text, /Scan on ships/);
  assert.equal(typeof json["Execution Time"], "number");
  assert.ok(json.Plan["Output"], "verbose");
  assert.match(json.Settings.search_path, /public/);
});

test("aggregates group by what else is selected", async () => {
  const perHarbour = ships("harbour_id, tons.sum(), count()").not("harbour_id", "is", null).order("harbour_id");

  assert.deepEqual(await expectData(perHarbour), [
    { harbour_id: 1, sum: 500, count: 2 },
    { harbour_id: 2, sum: 100, count: 1 },
  ]);
});

test("schema chooses another exposed schema, and no hidden one", async () => {
  const archive = register.client().schema("archive");

  assert.deepEqual(await expectData(archive.from("ships").select()), [{ id: 1, name: "Vasa" }]);
  assert.equal(await expectData(archive.rpc("oldest")), "Vasa");
  assert.deepEqual(await expectError(register.client().schema("auth").from("users").select()), {
    status: 406,
    code: "PGRST106",
    message: "Invalid schema: auth",
    details: null,
    hint: "Only the following schemas are exposed: public, archive",
  });
});

test("geojson without PostGIS names the function that is missing", async () => {
  const { status, code, message } = await expectError(ships().geojson());

  assert.deepEqual([status, code], [404, "42883"]);
  assert.match(message, /st_asgeojson/);
});
