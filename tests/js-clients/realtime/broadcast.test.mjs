// Broadcasts between clients, from servers, and with both serializers (realtime contract §6).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { collectMessages, joinPair, startRealtime, subscribe, versions } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startRealtime();
});
after(() => plinth?.stop());

for (const { vsn, options } of versions) {
  test(`${vsn}: a broadcast reaches the others, and not its sender`, async () => {
    const { sender, received, own } = await joinPair(plinth, `others-${vsn}`, options);

    assert.equal(await sender.send({ type: "broadcast", event: "cursor", payload: { x: 1.5, y: [null] } }), "ok");

    const message = await received.next();
    assert.equal(message.type, "broadcast");
    assert.equal(message.event, "cursor");
    assert.deepEqual(message.payload, { x: 1.5, y: [null] });
    assert.equal(own.length, 0);
  });

  test(`${vsn}: with self the sender receives its own messages, too`, async () => {
    const { sender, received, own } = await joinPair(plinth, `self-${vsn}`, options, { broadcast: { self: true } });

    await sender.send({ type: "broadcast", event: "e", payload: { n: 1 } });

    assert.deepEqual((await received.next()).payload, { n: 1 });
    assert.deepEqual((await own.next()).payload, { n: 1 });
  });

  test(`${vsn}: with ack the sender gets an acknowledgement`, async () => {
    const { sender, received } = await joinPair(plinth, `ack-${vsn}`, options, { broadcast: { ack: true } });

    assert.equal(await sender.send({ type: "broadcast", event: "e", payload: {} }), "ok");

    await received.next();
  });

  test(`${vsn}: messages of one sender keep their order`, async () => {
    const { sender, received } = await joinPair(plinth, `order-${vsn}`, options);

    for (let n = 0; n < 50; n++) sender.send({ type: "broadcast", event: "e", payload: { n } });

    for (let n = 0; n < 50; n++) assert.equal((await received.next()).payload.n, n);
  });

  test(`${vsn}: topics do not mix, and a channel that has left receives nothing`, async () => {
    const { sender, receiver, received } = await joinPair(plinth, `apart-${vsn}`, options);
    const elsewhere = await joinPair(plinth, `apart-${vsn}-elsewhere`, options);

    await sender.send({ type: "broadcast", event: "e", payload: { n: 1 } });
    assert.equal((await received.next()).payload.n, 1);
    await receiver.unsubscribe();
    await sender.send({ type: "broadcast", event: "e", payload: { n: 2 } });
    await elsewhere.sender.send({ type: "broadcast", event: "e", payload: { n: 3 } });

    assert.equal((await elsewhere.received.next()).payload.n, 3);
    assert.equal(received.length, 0);
  });
}

test("bytes stay bytes, and never reach a socket of the first version", async () => {
  const { sender, received } = await joinPair(plinth, "bytes", versions[1].options);
  const old = plinth.connect(versions[0].options).channel("bytes");
  const heardByOld = collectMessages(old, "broadcast");
  await subscribe(old);

  const bytes = Uint8Array.from([0, 1, 254, 255]);
  await sender.send({ type: "broadcast", event: "raw", payload: bytes.buffer });
  await sender.send({ type: "broadcast", event: "text", payload: { after: true } });

  const raw = await received.next();
  assert.equal(raw.event, "raw");
  assert.deepEqual(new Uint8Array(raw.payload), bytes);
  assert.equal((await received.next()).event, "text");
  const first = await heardByOld.next();
  assert.deepEqual([first.event, first.payload], ["text", { after: true }]);
});

test("the two versions understand each other", async () => {
  const [one, two] = versions.map(({ options }) => plinth.connect(options).channel("mixed"));
  const [heardByOne, heardByTwo] = [collectMessages(one, "broadcast"), collectMessages(two, "broadcast")];
  await Promise.all([subscribe(one), subscribe(two)]);

  await one.send({ type: "broadcast", event: "from-one", payload: { text: "ä\u2028\"" } });
  await two.send({ type: "broadcast", event: "from-two", payload: { text: "日本" } });

  assert.deepEqual((await heardByTwo.next()).payload, { text: "ä\u2028\"" });
  assert.deepEqual((await heardByOne.next()).payload, { text: "日本" });
});

for (const { vsn, options } of versions) {
  test(`${vsn}: without a socket a channel sends over HTTP`, async () => {
    const receiver = plinth.connect(options).channel(`http:${vsn}/ä`);
    const received = collectMessages(receiver, "broadcast");
    await subscribe(receiver);
    const sender = plinth.connect(options).channel(`http:${vsn}/ä`);

    const sent = await sender.httpSend("news", { n: 1 });

    assert.deepEqual(sent, { success: true });
    const message = await received.next();
    assert.deepEqual([message.event, message.payload], ["news", { n: 1 }]);

    assert.equal(await sender.send({ type: "broadcast", event: "fallback", payload: { n: 2 } }), "ok");
    const second = await received.next();
    assert.deepEqual([second.event, second.payload], ["fallback", { n: 2 }]);
  });
}

test("bytes over HTTP", async () => {
  const receiver = plinth.connect().channel("http-bytes");
  const received = collectMessages(receiver, "broadcast");
  await subscribe(receiver);

  await plinth.connect().channel("http-bytes").httpSend("raw", Uint8Array.from([7, 0]).buffer);

  assert.deepEqual(new Uint8Array((await received.next()).payload), Uint8Array.from([7, 0]));
});

test("a batch over HTTP, with ids", async () => {
  const receiver = plinth.connect().channel("batch");
  const received = collectMessages(receiver, "broadcast");
  await subscribe(receiver);
  const post = (body, headers = { apikey: plinth.keys.publishable }) =>
    fetch(`${plinth.apiUrl}/realtime/v1/api/broadcast`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const message = { topic: "batch", event: "e", payload: { n: 1 } };

  const response = await post({ messages: [message, { ...message, payload: { n: 2 }, id: "7" }] });

  assert.equal(response.status, 202);
  assert.equal(await response.text(), "");
  assert.ok(Number(response.headers.get("x-rate-limit")) > 0);
  assert.deepEqual((await received.next()).payload, { n: 1 });
  const second = await received.next();
  assert.deepEqual([second.payload, second.meta], [{ n: 2 }, { id: "7" }]);

  const bad = await post({ messages: [{ topic: "batch" }, message] });
  assert.equal(bad.status, 422);
  const blank = ["can't be blank"];
  assert.deepEqual(await bad.json(), { errors: { messages: [{ event: blank, payload: blank }, {}] } });
  const stranger = await post({ messages: [message] }, {});
  const hint = "No `apikey` request header or url param was found.";
  const missing = { message: "No API key found in request", hint };
  assert.deepEqual([stranger.status, await stranger.json()], [401, missing]);
  const forger = await post({ messages: [message] }, { authorization: "Bearer a.b.c" });
  assert.deepEqual([forger.status, await forger.json()], [401, { message: "Unauthorized" }]);
});

test("a script of another origin may ask", async () => {
  const response = await fetch(`${plinth.apiUrl}/realtime/v1/api/broadcast/a/events/b?apikey=x&vsn=2.0.0`, {
    method: "OPTIONS",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "apikey,authorization,content-type",
    },
  });

  assert.ok(response.ok);
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.match(response.headers.get("access-control-allow-headers"), /apikey/);
});
