// Changes of the schema are usable without a restart, and new names in the very next request.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "postgres";

import { dataOf, refusalOf, startRegister } from "./support.mjs";

let register;
let sql;
before(async () => {
  register = await startRegister();
  sql = postgres(register.dbUrl, { max: 1, onnotice: () => {} });
});
after(async () => {
  await sql?.end();
  await register?.stop();
});

const from = (table) => register.client(register.keys.secret).from(table);

/** The first answer without an error. The change is heard of at once; looking at it takes a moment. */
async function soon(ask) {
  const deadline = Date.now() + 5_000;
  for (;;) {
    const answer = await ask();
    if (!answer.error) return answer.data;
    assert.ok(Date.now() < deadline, JSON.stringify(answer.error));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("a new table answers to the very next request", async () => {
  await sql`create table public.buoys (id int primary key, colour text)`;

  assert.deepEqual(await dataOf(from("buoys").insert({ id: 1, colour: "red" }).select()), [{ id: 1, colour: "red" }]);
});

test("a new function answers to the very next request", async () => {
  await sql`create function public.depth() returns int language sql stable return 12`;

  assert.equal(await dataOf(register.client().rpc("depth")), 12);
});

test("a table that was asked for in vain answers once it is there", async () => {
  assert.equal((await refusalOf(from("lamps").select())).code, "PGRST205");

  await sql`create table public.lamps (id int primary key)`;

  assert.deepEqual(await soon(() => from("lamps").select()), []);
});

test("a new relationship joins", async () => {
  await sql`create table public.cranes (id int primary key, harbour int)`;
  await sql`insert into public.cranes values (1, 1)`;
  assert.equal((await refusalOf(from("cranes").select("harbours(name)"))).code, "PGRST200");

  await sql`alter table public.cranes add constraint crane_harbour foreign key (harbour) references public.harbours`;

  const cranes = await soon(() => from("cranes").select("harbours(name)"));
  assert.deepEqual(cranes, [{ harbours: { name: "Bergen" } }]);
});

test("a new column can be written", async () => {
  await sql`alter table public.ships add column keel text`;

  const ship = await soon(() => from("ships").update({ keel: "oak" }).eq("id", 1).select("keel").single());

  assert.deepEqual(ship, { keel: "oak" });
});

test("a column that changed its type is read as what it is now", async () => {
  const papers = () => from("papers").select("flag").eq("ship_id", 1).single();
  assert.deepEqual(await dataOf(papers()), { flag: "NO" });

  await sql`alter table public.papers alter column flag type jsonb using jsonb_build_object('of', flag)`;

  assert.deepEqual(await soon(papers), { flag: { of: "NO" } });
});

test("a dropped table is gone", async () => {
  await sql`create table public.wrecks (id int)`;
  assert.deepEqual(await soon(() => from("wrecks").select()), []);

  await sql`drop table public.wrecks`;

  assert.equal((await refusalOf(from("wrecks").select())).status, 404);
});
