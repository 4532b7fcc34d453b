// Private channels: policies on realtime.messages decide who hears and who speaks (realtime contract §10).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { signToken } from "../rest/support.mjs";
import { hear, inbox, refusalOf, startRealtime, subscribe, within } from "./support.mjs";

const ann = "00000000-0000-0000-0000-00000000000a";
const bob = "00000000-0000-0000-0000-00000000000b";

// Rooms are open to their members; in `watch-…` members hear, and only the owner speaks.
const policies = `
  create table public.members (topic text, person uuid, owns boolean, primary key (topic, person));
  alter table public.members enable row level security;
  create policy own on public.members for select to authenticated using (person = auth.uid());
  grant select on public.members to authenticated;
  insert into public.members values
    ('room', '${ann}', true), ('room', '${bob}', true),
    ('watch', '${ann}', true), ('watch', '${bob}', false);

  create policy hear on realtime.messages for select to authenticated using (
    exists (select from public.members where topic = realtime.topic())
    and extension in ('broadcast', 'presence')
  );
  create policy speak on realtime.messages for insert to authenticated with check (
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

/** A client that shows a token; private channels need to have it before they are joined. */
async function showing(accessToken) {
  const client = plinth.connect({ accessToken });
  await client.realtime.setAuth();
  return client;
}

const as = (sub) => showing(async () => tokenOf(sub));

const room = (client, topic, config = {}) => client.channel(topic, { config: { private: true, ...config } });

test("members hear and speak", async () => {
  const [speaker, listener] = [room(await as(ann), "room"), room(await as(bob), "room")];
  const heard = hear(listener, "broadcast");
  await Promise.all([subscribe(speaker), subscribe(listener)]);

  for (let n = 0; n < 20; n++) speaker.send({ type: "broadcast", event: "e", payload: { n } });

  for (let n = 0; n < 20; n++) assert.equal((await heard.next()).payload.n, n);
});

test("whoever is no member stays out, signed in or not", async () => {
  const stranger = await as("00000000-0000-0000-0000-00000000000c");
  const refusal = "Unauthorized: You do not have permissions to read from this Channel topic: room";
  assert.match(await refusalOf(room(stranger, "room")), new RegExp(refusal));
  assert.match(await refusalOf(room(plinth.connect(), "room")), new RegExp(refusal));
});

test("a policy that fails lets nobody in", async () => {
  assert.match(await refusalOf(room(await as(ann), "broken")), /Unauthorized: You do not have permissions/);
});

test("the service role may everything", async () => {
  const channel = room(plinth.connect({}, plinth.keys.secret), "any");
  await subscribe(channel);
});

test("who may only hear is not heard, and not told so", async () => {
  const speaker = room(await as(ann), "watch", { broadcast: { ack: true } });
  const watcher = room(await as(bob), "watch");
  const [heardBySpeaker, heardByWatcher] = [hear(speaker, "broadcast"), hear(watcher, "broadcast")];
  await Promise.all([subscribe(speaker), subscribe(watcher)]);

  await watcher.send({ type: "broadcast", event: "e", payload: { n: 1 } });
  assert.equal(await speaker.send({ type: "broadcast", event: "e", payload: { n: 2 } }), "ok");

  assert.equal((await heardByWatcher.next()).payload.n, 2);
  assert.equal(heardBySpeaker.length, 0);
  assert.equal(await watcher.track({ here: true }), "error");
});

test("a private room and a public one of the same name never meet", async () => {
  const inside = room(await as(ann), "room");
  const outside = plinth.connect().channel("room");
  const [heardInside, heardOutside] = [hear(inside, "broadcast"), hear(outside, "broadcast")];
  await Promise.all([subscribe(inside), subscribe(outside)]);
  const anotherOutside = plinth.connect().channel("room");
  await subscribe(anotherOutside);
  const anotherInside = room(await as(bob), "room");
  await subscribe(anotherInside);

  await anotherOutside.send({ type: "broadcast", event: "e", payload: { from: "outside" } });
  await anotherInside.send({ type: "broadcast", event: "e", payload: { from: "inside" } });

  assert.equal((await heardOutside.next()).payload.from, "outside");
  assert.equal((await heardInside.next()).payload.from, "inside");
  assert.equal(heardInside.length + heardOutside.length, 0);
});

test("who may only see presence gets no broadcasts", async () => {
  const channel = room(await as(ann), "presence-only", { presence: { enabled: true, key: "ann" } });
  const synced = inbox();
  channel.on("presence", { event: "sync" }, () => synced.put(channel.presenceState()));
  const heard = hear(channel, "broadcast");
  await subscribe(channel);
  assert.deepEqual(await synced.next(), {});

  const admin = plinth.connect({}, plinth.keys.secret);
  const speaker = room(admin, "presence-only");
  await subscribe(speaker);
  await speaker.send({ type: "broadcast", event: "e", payload: {} });
  await speaker.track({ seen: true });

  await within(
    (async () => {
      while (!Object.keys(await synced.next()).length);
    })(),
    "the other to be seen",
  );
  assert.equal(heard.length, 0);
});

test("over HTTP: a batch drops what is not allowed, a single message is refused", async () => {
  const listener = room(await as(bob), "watch");
  const heard = hear(listener, "broadcast");
  await subscribe(listener);
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
  assert.equal((await heard.next()).payload.sub, ann);

  const refused = room(await as(bob), "watch").httpSend("e", { n: 1 });
  await assert.rejects(refused, /Unauthorized/);
  const sent = await room(await as(ann), "watch").httpSend("e", { n: 2 });
  assert.deepEqual(sent, { success: true });
  assert.equal((await heard.next()).payload.n, 2);
});

test("another token takes effect on a live socket", async () => {
  let token = tokenOf(ann);
  const client = await showing(async () => token);
  const channel = room(client, "room");
  const systems = hear(channel, "system", {});
  await subscribe(channel);

  token = tokenOf(bob);
  await client.realtime.setAuth();
  const speaker = room(await as(ann), "room");
  await subscribe(speaker);

  token = tokenOf("00000000-0000-0000-0000-00000000000c");
  await client.realtime.setAuth();
  const told = await systems.next();
  assert.equal(told.status, "error");
  assert.equal(told.message, "You do not have permissions to read from this Channel topic: room");
});

test("a token that ends ends its channel", async () => {
  const exp = Math.floor(Date.now() / 1000) + 3;
  const client = await showing(async () => tokenOf(ann, { exp }));
  const channel = room(client, "room");
  const systems = hear(channel, "system", {});
  await subscribe(channel);

  const told = await systems.next();

  assert.equal(told.status, "error");
  assert.match(told.message, /^Token has expired \d+ seconds ago$/);
});

test("bad tokens are refused by name", async () => {
  const refusal = async (token) => refusalOf(room(await showing(async () => token), "room"));
  assert.match(await refusal("nonsense"), /MalformedJWT: The token provided is not a valid JWT/);
  assert.match(await refusal(tokenOf(ann, { exp: 1000 })), /InvalidJWTToken: Token has expired \d+ seconds ago/);
  assert.match(await refusal(tokenOf(ann, { role: undefined })), /Fields `role` and `exp` are required in JWT/);
  const forged = signToken({ role: "service_role", exp: 9_999_999_999 }, "another secret that is long enough");
  assert.match(await refusal(forged), /JwtSign(ature|er)Error/);
});

test("a role that tokens should not name is refused", async () => {
  for (const role of ["postgres", "supabase_admin", "supabase_realtime_admin", "nobody"]) {
    const token = tokenOf(ann, { role });
    const channel = room(await showing(async () => token), "room");
    assert.match(await refusalOf(channel), /Unauthorized/, role);
  }
});
