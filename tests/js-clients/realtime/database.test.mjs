// Broadcasts from the database (realtime contract §6.4 to §6.6), and column selection of changes (§9.6).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { signToken } from "../rest/support.mjs";
import { collectMessages, startRealtime, subscribe, versions, withTimeout } from "./support.mjs";

const ann = "00000000-0000-0000-0000-00000000000a";

const schema = `
  create policy receive on realtime.messages for select to authenticated using (true);

  create function public.say(topic text, n int) returns void language sql security definer as
    $$ select realtime.send(jsonb_build_object('n', n), 'said', topic, true) $$;

  create table public.orders (id int primary key, state text, note text);
  create function public.tell() returns trigger language plpgsql security definer as $$
    begin
      perform realtime.broadcast_changes(
        'orders:' || coalesce(new.id, old.id), tg_op, tg_op, tg_table_name, tg_table_schema, new, old);
      return null;
    end $$;
  create trigger tell after insert or update or delete on public.orders
    for each row execute function public.tell();
  alter publication supabase_realtime add table public.orders;
`;

let plinth;
let service;
before(async () => {
  plinth = await startRealtime({}, schema);
  service = plinth.connect({}, plinth.keys.secret);
});
after(() => plinth?.stop());

/** Joins a private channel, and waits until the database's replication stream is ready. */
async function join(topic, options, broadcast = {}) {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const token = signToken({ role: "authenticated", sub: ann, exp }, plinth.jwtSecret);
  const client = plinth.connect({ ...options, accessToken: async () => token });
  await client.realtime.setAuth();
  const config = { private: true, broadcast: { replication_ready: true, ...broadcast } };
  const channel = client.channel(topic, { config });
  const received = collectMessages(channel, "broadcast");
  const isReady = new Promise((resolve, reject) => {
    channel.on("system", {}, ({ status, message }) => (status === "ok" ? resolve() : reject(new Error(message))));
  });
  await subscribe(channel);
  await withTimeout(isReady, "the replication stream", 30_000);
  return received;
}

const broadcastFromDatabase = async (topic, n) => {
  const { error } = await service.rpc("say", { topic, n });
  assert.equal(error, null);
};

for (const [place, { vsn, options }] of versions.entries()) {
  test(`${vsn}: earlier messages of the database are replayed on request`, async () => {
    const topic = `past-${place}`;
    const since = Date.now() - 60_000;
    const before = await join(topic, options);
    for (const n of [1, 2, 3]) await broadcastFromDatabase(topic, n);
    // A channel that joins while these are still in the stream would receive all of them.
    for (const n of [1, 2, 3]) assert.equal((await before.next()).payload.n, n);

    const received = await join(topic, options, { replay: { since, limit: 2 } });
    await broadcastFromDatabase(topic, 4);

    for (const n of [2, 3]) {
      const { event, payload, meta } = await received.next();
      assert.deepEqual([event, payload.n, meta?.replayed], ["said", n, true]);
    }
    const { payload, meta } = await received.next();
    assert.deepEqual([payload.n, meta?.replayed], [4, undefined]);
    assert.equal(received.length, 0);
  });

  test(`${vsn}: a trigger sends its rows`, async () => {
    const id = 100 + place;
    const received = await join(`orders:${id}`, options);
    const orders = () => service.from("orders");

    assert.equal((await orders().insert({ id, state: "new" })).error, null);
    assert.equal((await orders().update({ state: "paid" }).eq("id", id)).error, null);
    assert.equal((await orders().delete().eq("id", id)).error, null);

    const said = [await received.next(), await received.next(), await received.next()];
    assert.deepEqual(
      said.map(({ event, payload }) => [event, payload.record?.state, payload.old_record?.state]),
      [
        ["INSERT", "new", undefined],
        ["UPDATE", "paid", "new"],
        ["DELETE", undefined, "paid"],
      ],
    );
    assert.deepEqual([said[0].payload.schema, said[0].payload.table], ["public", "orders"]);
  });

  test(`${vsn}: a change has the selected columns`, async () => {
    const id = 200 + place;
    const channel = plinth.connect(options, plinth.keys.secret).channel(`columns-${place}`);
    const filter = { event: "INSERT", schema: "public", table: "orders", filter: `id=eq.${id}` };
    const received = collectMessages(channel, "postgres_changes", { ...filter, select: ["id", "state"] });
    const isReady = new Promise((resolve) => {
      channel.on("system", {}, ({ status }) => status === "ok" && resolve());
    });
    await subscribe(channel);
    await withTimeout(isReady, "row changes to arrive", 30_000);

    assert.equal((await service.from("orders").insert({ id, state: "new", note: "no" })).error, null);

    assert.deepEqual((await received.next()).new, { id, state: "new" });
  });
}
