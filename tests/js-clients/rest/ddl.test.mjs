// Schema changes take effect without a restart; new names in the next request.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import postgres from "postgres";

import { expectData, expectError, startRegister } from "./support.mjs";

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

/** Retries until there is no error: the schema cache reloads asynchronously. */
async function retryUntilOk(request) {
  const deadline = Date.now() + 5_000;
  for (;;) {
    const response = await request();
    if (!response.error) return response.data;
    assert.ok(Date.now() < deadline, JSON.stringify(response.error));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("a new table serves the very next request", async () => {
  await sql`create table public.buoys (id int primary key, colour text)`;

  assert.deepEqual(await expectData(from("buoys").insert({ id: 1, colour: "red" }).select()), [{ id: 1, colour: "red" }]);
});

test("a new function serves the very next request", async () => {
  await sql`create function public.depth() returns int language sql stable return 12`;

  assert.equal(await expectData(register.client().rpc("depth")), 12);
});

test("a table that was missing is served once it exists", async () => {
  assert.equal((await expectError(from("lamps").select())).code, "PGRST205");

  await sql`create table public.lamps (id int primary key)`;

  assert.deepEqual(await retryUntilOk(() => from("lamps").select()), []);
});

test("a new relationship joins", async () => {
  await sql`create table public.cranes (id int primary key, harbour int)`;
  await sql`insert into public.cranes values (1, 1)`;
  assert.equal((await expectError(from("cranes").select("harbours(name)"))).code, "PGRST200");

  await sql`alter table public.cranes add constraint crane_harbour foreign key (harbour) references public.harbours`;

  const cranes = await retryUntilOk(() => from("cranes").select("harbours(name)"));
  assert.deepEqual(cranes, [{ harbours: { name: "Bergen" } }]);
});

test("a new column can be written", async () => {
  await sql`alter table public.ships add column keel text`;

  const ship = await retryUntilOk(() => from("ships").update({ keel: "oak" }).eq("id", 1).select("keel").single());

  assert.deepEqual(ship, { keel: "oak" });
});

test("a column that changed its type is read as what it is now", async () => {
  const papers = () => from("papers").select("flag").eq("ship_id", 1).single();
  assert.deepEqual(await expectData(papers()), { flag: "NO" });

  await sql`alter table public.papers alter column flag type jsonb using jsonb_build_object('of', flag)`;

  assert.deepEqual(await retryUntilOk(papers), { flag: { of: "NO" } });
});

test("a dropped table is gone", async () => {
  await sql`create table public.wrecks (id int)`;
  assert.deepEqual(await retryUntilOk(() => from("wrecks").select()), []);

  await sql`drop table public.wrecks`;

  assert.equal((await expectError(from("wrecks").select())).status, 404);
});
