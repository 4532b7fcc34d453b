// Presence (realtime contract §7).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { inbox, startRealtime, subscribe, versions, withTimeout } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startRealtime();
});
after(() => plinth?.stop());

/** A channel with presence, and its events. */
async function joinWithPresence(topic, options, key) {
  const client = plinth.connect(options);
  const channel = client.channel(topic, { config: { presence: { key, enabled: true } } });
  const events = inbox();
  channel.on("presence", { event: "sync" }, () => events.put({ sync: channel.presenceState() }));
  const joins = inbox();
  channel.on("presence", { event: "join" }, (event) => joins.put(event));
  const leaves = inbox();
  channel.on("presence", { event: "leave" }, (event) => leaves.put(event));
  await subscribe(channel);
  return { client, channel, events, joins, leaves, state: () => channel.presenceState() };
}

async function until(check) {
  await withTimeout(
    (async () => {
      while (!check()) await new Promise((resolve) => setTimeout(resolve, 10));
    })(),
    check,
  );
}

for (const { vsn, options } of versions) {
  test(`${vsn}: an empty channel syncs, too`, async () => {
    const ann = await joinWithPresence(`empty-${vsn}`, options, "ann");

    assert.deepEqual((await ann.events.next()).sync, {});
  });

  test(`${vsn}: a tracked presence is visible, and removed on leave`, async () => {
    const ann = await joinWithPresence(`seen-${vsn}`, options, "ann");
    assert.equal(await ann.channel.track({ at: 1 }), "ok");
    await until(() => ann.state().ann);
    const bob = await joinWithPresence(`seen-${vsn}`, options, "bob");
    await until(() => bob.state().ann);
    assert.equal(bob.state().ann[0].at, 1);

    assert.equal(await bob.channel.track({ at: 2 }), "ok");
    await until(() => ann.state().bob);
    const joined = await ann.joins.next();
    assert.equal(joined.key, "ann");
    assert.equal((await ann.joins.next()).newPresences[0].at, 2);

    await bob.channel.unsubscribe();
    await until(() => !ann.state().bob);
    const left = await ann.leaves.next();
    assert.deepEqual([left.key, left.leftPresences[0].at], ["bob", 2]);
  });

  test(`${vsn}: tracking again updates, and untracking ends it`, async () => {
    const ann = await joinWithPresence(`update-${vsn}`, options, "ann");
    const bob = await joinWithPresence(`update-${vsn}`, options, "bob");
    await ann.channel.track({ at: 1 });
    await until(() => bob.state().ann?.[0].at === 1);

    await ann.channel.track({ at: 2, more: { deep: [1.5] } });
    await until(() => bob.state().ann?.[0].at === 2);
    assert.equal(bob.state().ann.length, 1);
    assert.deepEqual(bob.state().ann[0].more, { deep: [1.5] });

    await ann.channel.untrack();
    await until(() => !bob.state().ann);
  });
}

test("a socket that is lost leaves, also without a word", async () => {
  const ann = await joinWithPresence("lost", {}, "ann");
  const bob = await joinWithPresence("lost", {}, "bob");
  await bob.channel.track({});
  await until(() => ann.state().bob);

  bob.client.realtime.disconnect();

  await until(() => !ann.state().bob);
});

test("without a key the server invents one, and several may share one", async () => {
  const nameless = await joinWithPresence("keys", {}, undefined);
  await nameless.channel.track({ n: 0 });
  await until(() => Object.keys(nameless.state()).length === 1);
  assert.match(Object.keys(nameless.state())[0], /^[0-9a-f-]{36}$/);

  const twins = [await joinWithPresence("keys", {}, "twin"), await joinWithPresence("keys", {}, "twin")];
  for (const [n, twin] of twins.entries()) await twin.channel.track({ n });
  await until(() => nameless.state().twin?.length === 2);
  assert.deepEqual(nameless.state().twin.map(({ n }) => n), [0, 1]);
});

test("odd keys are keys like any other", async () => {
  const watcher = await joinWithPresence("odd", {}, "watcher");
  for (const key of ["constructor", "\"quoted\\", "日本", "  "]) {
    const odd = await joinWithPresence("odd", {}, key);
    await odd.channel.track({ key });
    await until(() => Object.hasOwn(watcher.state(), key));
    assert.equal(watcher.state()[key][0].key, key);
  }
});
