// Postgres changes, as the official client receives them (realtime contract §9).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { signToken } from "../rest/support.mjs";
import { collectMessages, inbox, startRealtime, subscribe, versions, withTimeout } from "./support.mjs";

const ann = "00000000-0000-0000-0000-00000000000a";
const bob = "00000000-0000-0000-0000-00000000000b";

const schema = `
  create table public.notes (
    id int primary key, body text, n numeric, big bigint, ok boolean, at timestamp, zoned timestamptz,
    day date, tags text[], doc jsonb, raw bytea, mark uuid
  );
  alter publication supabase_realtime add table public.notes;

  create table public.owned (id int primary key, owner uuid default auth.uid(), body text);
  alter table public.owned enable row level security;
  create policy own on public.owned to authenticated using (owner = auth.uid()) with check (owner = auth.uid());
  alter publication supabase_realtime add table public.owned;

  create table public.whole (id int primary key, body text);
  alter table public.whole replica identity full;
  alter publication supabase_realtime add table public.whole;

  create table public.unpublished (id int primary key);

  create function public.greet() returns void language sql as
    $$ select realtime.send('{"n": 1}', 'greet', 'from-database', false) $$;
`;

let plinth;
let service;
before(async () => {
  plinth = await startRealtime({}, schema);
  service = plinth.connect({}, plinth.keys.secret);
});
after(() => plinth?.stop());

/** Subscribes, and waits until changes are delivered. */
async function subscribeToChanges(channel) {
  const arrival = new Promise((resolve, reject) => {
    channel.on("system", {}, (said) => {
      if (said.extension !== "postgres_changes") return;
      if (said.status === "ok") resolve(said);
      else reject(new Error(said.message));
    });
  });
  await subscribe(channel);
  await withTimeout(arrival, "row changes to arrive", 30_000);
  return channel;
}

async function expectData(call) {
  const { error } = await call;
  assert.equal(error, null);
}

let topics = 0;
function channelOf(client = plinth.connect()) {
  topics += 1;
  return client.channel(`changes-${topics}`);
}

let ids = 0;
function newId() {
  ids += 1;
  return ids;
}

for (const { vsn, options } of versions) {
  test(`${vsn}: inserts, updates and deletes arrive with their rows`, async () => {
    const channel = channelOf(plinth.connect(options));
    const received = collectMessages(channel, "postgres_changes", { event: "*", schema: "public", table: "notes" });
    await subscribeToChanges(channel);
    const id = newId();

    await expectData(service.from("notes").insert({ id, body: "a" }));
    await expectData(service.from("notes").update({ body: "b" }).eq("id", id));
    await expectData(service.from("notes").delete().eq("id", id));

    const inserted = await received.next();
    assert.equal(inserted.eventType, "INSERT");
    assert.equal(inserted.schema, "public");
    assert.equal(inserted.table, "notes");
    assert.match(inserted.commit_timestamp, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
    assert.equal(inserted.errors, null);
    assert.equal(inserted.new.body, "a");
    assert.deepEqual(inserted.old, {});
    const updated = await received.next();
    assert.equal(updated.eventType, "UPDATE");
    assert.equal(updated.new.body, "b");
    assert.deepEqual(updated.old, { id });
    const deleted = await received.next();
    assert.equal(deleted.eventType, "DELETE");
    assert.deepEqual(deleted.new, {});
    assert.deepEqual(deleted.old, { id });
  });
}

test("each listener receives its own events", async () => {
  const channel = channelOf();
  const of = (event) => collectMessages(channel, "postgres_changes", { event, schema: "public", table: "notes" });
  const [inserts, updates, deletes] = [of("INSERT"), of("UPDATE"), of("DELETE")];
  await subscribeToChanges(channel);
  const id = newId();

  await expectData(service.from("notes").insert({ id }));
  await expectData(service.from("notes").update({ n: 1 }).eq("id", id));
  await expectData(service.from("notes").delete().eq("id", id));

  assert.equal((await deletes.next()).old.id, id);
  assert.equal((await inserts.next()).new.id, id);
  assert.equal((await updates.next()).new.n, 1);
  assert.equal(inserts.length + updates.length + deletes.length, 0);
});

test("values look as the REST service would give them", async () => {
  const channel = channelOf();
  const received = collectMessages(channel, "postgres_changes", { event: "INSERT", schema: "public", table: "notes" });
  await subscribeToChanges(channel);
  const row = {
    id: newId(), body: 'x "y" \\ ü', n: 1.5, big: 12345678901, ok: true, at: "2026-01-02T03:04:05",
    zoned: "2026-01-02T03:04:05.6+00:00", day: "2026-01-02", tags: ["a", "b c", null],
    doc: { a: [1, null, { b: "c" }] }, raw: "\\x0102", mark: ann,
  };

  await expectData(service.from("notes").insert(row));

  const { new: inserted } = await received.next();
  assert.deepEqual(inserted, { ...row, raw: "0102" });
});

const filters = [
  ["id=eq.1001", [1001]],
  ["id=neq.1001", [1002, 1003, 1004]],
  ["id=lt.1002", [1001]],
  ["id=lte.1002", [1001, 1002]],
  ["id=gt.1003", [1004]],
  ["id=gte.1003", [1003, 1004]],
  ["id=in.(1001,1004)", [1001, 1004]],
  ["body=like.a%", [1001]],
  ["body=ilike.A%", [1001, 1002]],
  ["body=is.null", [1004]],
  ["body=not.is.null", [1001, 1002, 1003]],
  ["body=match.^[aA][bB]", [1001, 1002]],
  ["body=imatch.^AB$", [1001, 1002]],
  ["body=isdistinct.ab", [1002, 1003, 1004]],
  ["id=gt.1001,body=eq.zz", [1003]],
  ["id=not.in.(1001,1002)", [1003, 1004]],
  ["body=eq.zz", [1003]],
];

test("every operator of filters", async () => {
  const channel = channelOf();
  const boxes = filters.map(([filter]) =>
    collectMessages(channel, "postgres_changes", { event: "INSERT", schema: "public", table: "whole", filter }),
  );
  await subscribeToChanges(channel);

  const rows = [[1001, "ab"], [1002, "AB"], [1003, "zz"], [1004, null]].map(([id, body]) => ({ id, body }));
  await expectData(service.from("whole").insert(rows));

  for (const [place, [filter, expected]] of filters.entries()) {
    const got = [];
    while (got.length < expected.length) {
      const change = await boxes[place].next().catch((error) => assert.fail(`${filter}: ${got}: ${error.message}`));
      got.push(change.new.id);
    }
    assert.deepEqual(got, expected, filter);
    assert.equal(boxes[place].length, 0, filter);
  }
});

test("with a full identity the old row is whole, and deletes can be filtered by any column", async () => {
  const channel = channelOf();
  const received = collectMessages(channel, "postgres_changes", {
    event: "*", schema: "public", table: "whole", filter: "body=eq.old",
  });
  await subscribeToChanges(channel);

  await expectData(service.from("whole").insert({ id: 2001, body: "new" }));
  await expectData(service.from("whole").update({ body: "old" }).eq("id", 2001));
  await expectData(service.from("whole").delete().eq("id", 2001));

  assert.deepEqual((await received.next()).old, { id: 2001, body: "new" });
  assert.deepEqual((await received.next()).old, { id: 2001, body: "old" });
});

test("policies decide who receives a row change", async () => {
  const as = async (sub) => {
    const token = signToken({ sub }, plinth.jwtSecret);
    const client = plinth.connect({ accessToken: async () => token });
    await client.realtime.setAuth();
    const channel = channelOf(client);
    const received = collectMessages(channel, "postgres_changes", { event: "INSERT", schema: "public", table: "owned" });
    await subscribeToChanges(channel);
    return { client, received };
  };
  const [anna, robert] = [await as(ann), await as(bob)];

  await expectData(anna.client.from("owned").insert({ id: 1, body: "ann's" }));
  await expectData(robert.client.from("owned").insert({ id: 2, body: "bob's" }));

  assert.deepEqual((await anna.received.next()).new, { id: 1, owner: ann, body: "ann's" });
  assert.deepEqual((await robert.received.next()).new, { id: 2, owner: bob, body: "bob's" });
  assert.equal(anna.received.length + robert.received.length, 0);
});

test("a table that is not published is an error that names it, and the channel stays", async () => {
  const channel = channelOf();
  const said = inbox();
  channel.on("system", {}, (message) => said.put(message));
  collectMessages(channel, "postgres_changes", { event: "*", schema: "public", table: "unpublished" });
  await subscribe(channel);

  const message = await said.next();
  assert.equal(message.status, "error");
  assert.match(message.message, /table: unpublished/);
  assert.equal(channel.state, "joined");
});

test("what the database sends reaches the client, once", async () => {
  const channel = plinth.connect().channel("from-database", { config: { broadcast: { replication_ready: true } } });
  const received = collectMessages(channel, "broadcast", { event: "greet" });
  const ready = new Promise((resolve) => channel.on("system", {}, resolve));
  await subscribe(channel);
  assert.equal((await withTimeout(ready, "the stream", 30_000)).message, "Replication connection established");

  await expectData(service.rpc("greet"));

  const message = await received.next();
  assert.equal(message.payload.n, 1);
  assert.equal(message.payload.id, message.meta.id);
  assert.equal(received.length, 0);
});
