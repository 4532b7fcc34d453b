// Starts a Plinth for realtime tests, connects clients, and collects their messages.

import assert from "node:assert/strict";

import { createClient } from "@supabase/supabase-js";

import { startAccounts } from "../support/accounts.mjs";

/** Below the client's own timeout of ten seconds. */
const defaultTimeoutMs = 8_000;

/** By default error replies are delayed for seconds. */
const defaultSettings = {
  "plinth.realtime.channel_error_backoff": "10ms",
  "plinth.realtime.connect_error_backoff": "10ms",
};

/**
 * A running Plinth, and `connect(options, key)`, which returns a client with a socket of its own. `stop` closes
 * all sockets.
 */
export async function startRealtime(settings = {}, sql = "") {
  const files = sql ? { "supabase/migrations/20260101000000_schema.sql": sql } : {};
  const plinth = await startAccounts({ ...defaultSettings, ...settings }, files);
  const clients = [];
  return {
    ...plinth,
    connect(options = {}, key = plinth.keys.publishable) {
      const client = createClient(plinth.apiUrl, key, {
        auth: { persistSession: false, autoRefreshToken: false },
        ...options,
      });
      clients.push(client);
      return client;
    },
    async stop() {
      await Promise.all(clients.map((client) => client.removeAllChannels()));
      for (const client of clients) client.realtime.disconnect();
      await plinth.stop();
    },
  };
}

/** Both serializer versions, for tests that apply to each. */
export const versions = ["1.0.0", "2.0.0"].map((vsn) => ({ vsn, options: { realtime: { vsn } } }));

/** Subscribes, and waits for the result. */
export function subscribe(channel) {
  return withTimeout(
    new Promise((resolve, reject) => {
      channel.subscribe((status, error) => {
        if (status === "SUBSCRIBED") resolve(channel);
        else reject(error ?? new Error(status));
      });
    }),
    `${channel.topic} to be joined`,
  );
}

/** Returns the error message of a subscription, which must fail. */
export async function expectJoinError(channel) {
  try {
    await subscribe(channel);
  } catch (error) {
    return error.message;
  }
  assert.fail(`${channel.topic} was joined`);
}

/** A message queue: `next()` waits for the next message, `none()` asserts that there is none. */
export function inbox() {
  const arrived = [];
  const waiting = [];
  return {
    put(message) {
      const resolve = waiting.shift();
      if (resolve) resolve(message);
      else arrived.push(message);
    },
    next() {
      if (arrived.length) return Promise.resolve(arrived.shift());
      return withTimeout(new Promise((resolve) => waiting.push(resolve)), "a message");
    },
    /** Messages sent before `probe` would have arrived before it. */
    async none(probe) {
      await probe?.();
      assert.deepEqual(arrived, []);
    },
    get length() {
      return arrived.length;
    },
  };
}

/** Collects the messages of one type that a channel receives. */
export function collectMessages(channel, type, filter = { event: "*" }) {
  const box = inbox();
  channel.on(type, filter, (message) => box.put(message));
  return box;
}

/** Two clients, each with a joined channel of the same topic. */
export async function joinPair(plinth, topic, options = {}, config = {}) {
  const sender = plinth.connect(options).channel(topic, { config });
  const receiver = plinth.connect(options).channel(topic, { config });
  const received = collectMessages(receiver, "broadcast");
  const own = collectMessages(sender, "broadcast");
  await Promise.all([subscribe(sender), subscribe(receiver)]);
  return { sender, receiver, received, own };
}

export function withTimeout(promise, what, timeoutMs = defaultTimeoutMs) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${timeoutMs} ms for ${what}`)), timeoutMs);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
