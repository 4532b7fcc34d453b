// Related rows in one request, for every kind of relationship.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { column, expectData, expectError, startRegister } from "./support.mjs";

let register;
before(async () => {
  register = await startRegister();
});
after(() => register?.stop());

const from = (table) => register.client().from(table);

test("many to one is an object, or null", async () => {
  const rows = await expectData(from("ships").select("id, harbours(name)").in("id", [1, 4]).order("id"));

  assert.deepEqual(rows, [
    { id: 1, harbours: { name: "Bergen" } },
    { id: 4, harbours: null },
  ]);
});

test("one to many is an array, perhaps empty", async () => {
  const rows = await expectData(from("harbours").select("id, ships(name)").order("id"));

  assert.deepEqual(rows, [
    { id: 1, ships: [{ name: "Albatross" }, { name: "Bittern" }] },
    { id: 2, ships: [{ name: "Curlew" }] },
    { id: 3, ships: [] },
  ]);
});

test("one to one is an object from both sides", async () => {
  const ship = await expectData(from("ships").select("papers(flag)").eq("id", 1).single());
  const papers = await expectData(from("papers").select("flag, ships(name)").eq("ship_id", 3).single());

  assert.deepEqual(ship, { papers: { flag: "NO" } });
  assert.deepEqual(papers, { flag: "PT", ships: { name: "Curlew" } });
});

test("many to many goes through its junction", async () => {
  const ship = from("ships").select("name, sailors(first_name)").eq("id", 1);
  const rows = await expectData(ship.order("id", { referencedTable: "sailors" }));

  assert.deepEqual(rows, [{ name: "Albatross", sailors: [{ first_name: "Ada" }, { first_name: "Rui" }] }]);
});

test("a table that refers to itself gives parents by column and children by hint", async () => {
  const child = await expectData(from("harbours").select("name, parent_id(name)").eq("id", 3).single());
  const parent = await expectData(from("harbours").select("name, children:harbours!parent_id(name)").eq("id", 2).single());

  assert.deepEqual(child, { name: "Kobe, East", parent_id: { name: "Lisbon" } });
  assert.deepEqual(parent, { name: "Lisbon", children: [{ name: "Kobe, East" }] });
});

test("two ways to a table need a hint: constraint or column", async () => {
  const voyage = "from:harbours!voyage_origin(name), to:harbours!goal(name)";

  assert.deepEqual(await expectData(from("voyages").select(voyage).eq("id", 1).single()), {
    from: { name: "Bergen" },
    to: { name: "Lisbon" },
  });
});

test("without the hint the error lists the relationships", async () => {
  const { status, code, details, hint } = await expectError(from("voyages").select("harbours(name)"));

  assert.deepEqual([status, code], [300, "PGRST201"]);
  assert.deepEqual(
    details.map((way) => way.relationship),
    [
      "voyage_goal using voyages(goal) and harbours(id)",
      "voyage_origin using voyages(origin) and harbours(id)",
    ],
  );
  assert.match(hint, /'harbours!voyage_goal', 'harbours!voyage_origin'/);
});

test("tables without a relationship cannot be joined", async () => {
  const { status, code, message } = await expectError(from("sailors").select("harbours(name)"));

  assert.deepEqual([status, code], [400, "PGRST200"]);
  assert.equal(message, "Could not find a relationship between 'sailors' and 'harbours' in the schema cache");
});

test("a function of the row is a relationship", async () => {
  const rows = await expectData(from("harbours").select("id, heaviest_ship(name)").order("id"));

  assert.deepEqual(
    rows.map((row) => row.heaviest_ship?.name ?? null),
    ["Albatross", "Curlew", null],
  );
});

test("a view has the relationships of its tables", async () => {
  const rows = await expectData(from("heavy_ships").select("name, harbours(name), sailors(first_name)").eq("id", 2));

  assert.deepEqual(rows, [{ name: "Bittern", harbours: { name: "Bergen" }, sailors: [{ first_name: "Rui" }] }]);
});

test("a spread lifts columns of one row, and makes arrays of many", async () => {
  const ship = await expectData(from("ships").select("name, ...harbours(harbour:name)").eq("id", 1).single());
  const harbour = from("harbours").select("name, ...ships(ships:name)").eq("id", 1);

  assert.deepEqual(ship, { name: "Albatross", harbour: "Bergen" });
  assert.deepEqual(await expectData(harbour.order("name", { referencedTable: "ships", ascending: false }).single()), {
    name: "Bergen",
    ships: ["Bittern", "Albatross"],
  });
});

test("filters, orders and pages of related rows leave the parents alone", async () => {
  const query = from("harbours").select("id, ships(name)").order("id");
  const filtered = query
    .gte("ships.tons", 200)
    .order("tons", { referencedTable: "ships", ascending: false })
    .range(1, 1, { referencedTable: "ships" });

  assert.deepEqual(await expectData(filtered), [
    { id: 1, ships: [{ name: "Bittern" }] },
    { id: 2, ships: [] },
    { id: 3, ships: [] },
  ]);
});

test("limit and or can address related rows", async () => {
  const query = from("harbours").select("id, ships(name)").eq("id", 1);
  const few = query.or("tons.eq.200,name.eq.Albatross", { referencedTable: "ships" });

  const [harbour] = await expectData(few.order("id", { referencedTable: "ships" }).limit(1, { referencedTable: "ships" }));

  assert.deepEqual(harbour.ships, [{ name: "Albatross" }]);
});

test("inner drops parents without related rows, and the count agrees", async () => {
  const query = from("harbours").select("name, ships!inner(name)", { count: "exact" });
  const { data, count } = await query.eq("ships.name", "Curlew");

  assert.deepEqual(data, [{ name: "Lisbon", ships: [{ name: "Curlew" }] }]);
  assert.equal(count, 1);
});

test("parents can be chosen by whether they have related rows", async () => {
  const without = from("harbours").select("name, ships()").is("ships", null);
  const having = from("harbours").select("name, ships()").not("ships", "is", null).order("id");

  assert.deepEqual(await expectData(without), [{ name: "Kobe, East" }]);
  assert.deepEqual(await column("name", having), ["Bergen", "Lisbon"]);
});

test("parents can be sorted by a related row", async () => {
  const query = from("ships").select("id, harbours!inner(name)").order("harbours(name)", { ascending: false });

  assert.deepEqual(await column("id", query.order("id")), [3, 1, 2]);
});

test("related rows are counted", async () => {
  const rows = await expectData(from("harbours").select("name, ships(count)").order("id"));

  assert.deepEqual(
    rows.map((row) => row.ships),
    [[{ count: 2 }], [{ count: 1 }], [{ count: 0 }]],
  );
});
