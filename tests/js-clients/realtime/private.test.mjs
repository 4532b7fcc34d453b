// Private channels: policies on realtime.messages decide who may receive and send (realtime contract §10).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { signToken } from "../rest/support.mjs";
import {
  collectMessages,
  expectJoinError,
  inbox,
  startRealtime,
  subscribe,
  withTimeout,
} from "./support.mjs";

const ann = "00000000-0000-0000-0000-00000000000a";
const bob = "00000000-0000-0000-0000-00000000000b";

// Members may receive and send in their rooms; in `watch-…` only the owner may send.
const policies = `
  create table public.members (topic text, person uuid, owns boolean, primary key (topic, person));
  alter table public.members enable row level security;
  create policy own on public.members for select to authenticated using (person = auth.uid());
  grant select on public.members to authenticated;
  insert into public.members values
    ('room', '${ann}', true), ('room', '${bob}', true),
    ('watch', '${ann}', true), ('watch', '${bob}', false);

  create policy receive on realtime.messages for select to authenticated using (
    exists (select from public.members where topic = realtime.topic())
    and extension in ('broadcast', 'presence')
  );
  create policy send on realtime.messages for insert to authenticated with check (
    exists (select from public.members where topic = realtime.topic() and owns)
  );
  create policy only_presence on realtime.messages for select to authenticated using (
    realtime.topic() = 'presence-only' and extension = 'presence'
  );
  create policy broken on realtime.messages for select to authenticated using (
    realtime.topic() = 'broken' and 1 / (length(realtime.topic()) - 6) = 0
  );
`;

let plinth;
before(async () => {
  plinth = await startRealtime({}, policies);
});
after(() => plinth?.stop());

const tokenOf = (sub, more = {}) => {
  const claims = { role: "authenticated", sub, exp: Math.floor(Date.now() / 1000) + 3600, ...more };
  return signToken(claims, plinth.jwtSecret);
};

/** A client with an access token, which private channels need before they join. */
async function connectWithToken(accessToken) {
  const client = plinth.connect({ accessToken });
  await client.realtime.setAuth();
  return client;
}

const connectAs = (sub) => connectWithToken(async () => tokenOf(sub));

const privateChannel = (client, topic, config = {}) => client.channel(topic, { config: { private: true, ...config } });

test("members receive and send", async () => {
  const [sender, receiver] = [privateChannel(await connectAs(ann), "room"), privateChannel(await connectAs(bob), "room")];
  const received = collectMessages(receiver, "broadcast");
  await Promise.all([subscribe(sender), subscribe(receiver)]);

  for (let n = 0; n < 20; n++) sender.send({ type: "broadcast", event: "e", payload: { n } });

  for (let n = 0; n < 20; n++) assert.equal((await received.next()).payload.n, n);
});

test("non-members cannot join, signed in or not", async () => {
  const stranger = await connectAs("00000000-0000-0000-0000-00000000000c");
  const message = "Unauthorized: You do not have permissions to read from this Channel topic: room";
  assert.match(await expectJoinError(privateChannel(stranger, "room")), new RegExp(message));
  assert.match(await expectJoinError(privateChannel(plinth.connect(), "room")), new RegExp(message));
});

test("a policy that raises an error rejects every join", async () => {
  assert.match(await expectJoinError(privateChannel(await connectAs(ann), "broken")), /Unauthorized: You do not have permissions/);
});

test("the service role may join every channel", async () => {
  const channel = privateChannel(plinth.connect({}, plinth.keys.secret), "any");
  await subscribe(channel);
});

test("messages of a read-only member are dropped silently", async () => {
  const sender = privateChannel(await connectAs(ann), "watch", { broadcast: { ack: true } });
  const watcher = privateChannel(await connectAs(bob), "watch");
  const [heardBySpeaker, heardByWatcher] = [collectMessages(sender, "broadcast"), collectMessages(watcher, "broadcast")];
  await Promise.all([subscribe(sender), subscribe(watcher)]);

  await watcher.send({ type: "broadcast", event: "e", payload: { n: 1 } });
  assert.equal(await sender.send({ type: "broadcast", event: "e", payload: { n: 2 } }), "ok");

  assert.equal((await heardByWatcher.next()).payload.n, 2);
  assert.equal(heardBySpeaker.length, 0);
  assert.equal(await watcher.track({ here: true }), "error");
});

test("a private channel and a public one of the same name are separate", async () => {
  const inside = privateChannel(await connectAs(ann), "room");
  const outside = plinth.connect().channel("room");
  const [heardInside, heardOutside] = [collectMessages(inside, "broadcast"), collectMessages(outside, "broadcast")];
  await Promise.all([subscribe(inside), subscribe(outside)]);
  const anotherOutside = plinth.connect().channel("room");
  await subscribe(anotherOutside);
  const anotherInside = privateChannel(await connectAs(bob), "room");
  await subscribe(anotherInside);

  await anotherOutside.send({ type: "broadcast", event: "e", payload: { from: "outside" } });
  await anotherInside.send({ type: "broadcast", event: "e", payload: { from: "inside" } });

  assert.equal((await heardOutside.next()).payload.from, "outside");
  assert.equal((await heardInside.next()).payload.from, "inside");
  assert.equal(heardInside.length + heardOutside.length, 0);
});

test("who may only see presence gets no broadcasts", async () => {
  const channel = privateChannel(await connectAs(ann), "presence-only", { presence: { enabled: true, key: "ann" } });
  const synced = inbox();
  channel.on("presence", { event: "sync" }, () => synced.put(channel.presenceState()));
  const received = collectMessages(channel, "broadcast");
  await subscribe(channel);
  assert.deepEqual(await synced.next(), {});

  const admin = plinth.connect({}, plinth.keys.secret);
  const sender = privateChannel(admin, "presence-only");
  await subscribe(sender);
  await sender.send({ type: "broadcast", event: "e", payload: {} });
  await sender.track({ seen: true });

  await withTimeout(
    (async () => {
      while (!Object.keys(await synced.next()).length);
    })(),
    "the other to be seen",
  );
  assert.equal(received.length, 0);
});

test("over HTTP: a batch drops what is not allowed, a single message is rejected", async () => {
  const receiver = privateChannel(await connectAs(bob), "watch");
  const received = collectMessages(receiver, "broadcast");
  await subscribe(receiver);
  const batch = (sub) =>
    fetch(`${plinth.apiUrl}/realtime/v1/api/broadcast`, {
      method: "POST",
      headers: {
        apikey: plinth.keys.publishable,
        authorization: `Bearer ${tokenOf(sub)}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ messages: [{ topic: "watch", event: "e", payload: { sub }, private: true }] }),
    });

  assert.equal((await batch(bob)).status, 202);
  assert.equal((await batch(ann)).status, 202);
  assert.equal((await received.next()).payload.sub, ann);

  const rejected = privateChannel(await connectAs(bob), "watch").httpSend("e", { n: 1 });
  await assert.rejects(rejected, /Unauthorized/);
  const sent = await privateChannel(await connectAs(ann), "watch").httpSend("e", { n: 2 });
  assert.deepEqual(sent, { success: true });
  assert.equal((await received.next()).payload.n, 2);
});

test("another token takes effect on a live socket", async () => {
  let token = tokenOf(ann);
  const client = await connectWithToken(async () => token);
  const channel = privateChannel(client, "room");
  const systems = collectMessages(channel, "system", {});
  await subscribe(channel);

  token = tokenOf(bob);
  await client.realtime.setAuth();
  const sender = privateChannel(await connectAs(ann), "room");
  await subscribe(sender);

  token = tokenOf("00000000-0000-0000-0000-00000000000c");
  await client.realtime.setAuth();
  const frame = await systems.next();
  assert.equal(frame.status, "error");
  assert.equal(frame.message, "You do not have permissions to read from this Channel topic: room");
});

test("a token that ends ends its channel", async () => {
  const exp = Math.floor(Date.now() / 1000) + 3;
  const client = await connectWithToken(async () => tokenOf(ann, { exp }));
  const channel = privateChannel(client, "room");
  const systems = collectMessages(channel, "system", {});
  await subscribe(channel);

  const frame = await systems.next();

  assert.equal(frame.status, "error");
  assert.match(frame.message, /^Token has expired \d+ seconds ago$/);
});

test("bad tokens are rejected by name", async () => {
  const joinErrorWith = async (token) => expectJoinError(privateChannel(await connectWithToken(async () => token), "room"));
  assert.match(await joinErrorWith("nonsense"), /MalformedJWT: The token provided is not a valid JWT/);
  assert.match(await joinErrorWith(tokenOf(ann, { exp: 1000 })), /InvalidJWTToken: Token has expired \d+ seconds ago/);
  assert.match(await joinErrorWith(tokenOf(ann, { role: undefined })), /Fields `role` and `exp` are required in JWT/);
  const forged = signToken({ role: "service_role", exp: 9_999_999_999 }, "another secret that is long enough");
  assert.match(await joinErrorWith(forged), /JwtSign(ature|er)Error/);
});

test("a role that tokens should not name is rejected", async () => {
  for (const role of ["postgres", "supabase_admin", "supabase_realtime_admin", "nobody"]) {
    const token = tokenOf(ann, { role });
    const channel = privateChannel(await connectWithToken(async () => token), "room");
    assert.match(await expectJoinError(channel), /Unauthorized/, role);
  }
});
