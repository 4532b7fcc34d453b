// A Plinth whose channels are under test, clients of it, and what they hear.

import assert from "node:assert/strict";

import { createClient } from "@supabase/supabase-js";

import { startAccounts } from "../support/accounts.mjs";

/** The client itself gives up after ten seconds. */
const patience = 8_000;

/** Refusals are held back for seconds where nobody tests them. */
const usual = {
  "plinth.realtime.channel_error_backoff": "10ms",
  "plinth.realtime.connect_error_backoff": "10ms",
};

/**
 * A running Plinth, and `connect(options, key)`: a new client with a socket of its own. All sockets are closed
 * with `stop`.
 */
export async function startRealtime(settings = {}, sql = "") {
  const files = sql ? { "supabase/migrations/20260101000000_schema.sql": sql } : {};
  const plinth = await startAccounts({ ...usual, ...settings }, files);
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

/** Both serialisers, for tests that hold for each. */
export const versions = ["1.0.0", "2.0.0"].map((vsn) => ({ vsn, options: { realtime: { vsn } } }));

/** Subscribes, and waits until that succeeded or failed. */
export function subscribe(channel) {
  return within(
    new Promise((resolve, reject) => {
      channel.subscribe((status, error) => {
        if (status === "SUBSCRIBED") resolve(channel);
        else reject(error ?? new Error(status));
      });
    }),
    `${channel.topic} to be joined`,
  );
}

/** The refusal of a subscription. */
export async function refusalOf(channel) {
  try {
    await subscribe(channel);
  } catch (error) {
    return error.message;
  }
  assert.fail(`${channel.topic} was joined`);
}

/** What arrives, one after the other: `next()` waits for the next, `none()` for nothing. */
export function inbox() {
  const arrived = [];
  const waiting = [];
  return {
    put(thing) {
      const first = waiting.shift();
      if (first) first(thing);
      else arrived.push(thing);
    },
    next() {
      if (arrived.length) return Promise.resolve(arrived.shift());
      return within(new Promise((resolve) => waiting.push(resolve)), "something to arrive");
    },
    /** Whatever was sent before `probe` would have arrived before it. */
    async none(probe) {
      await probe?.();
      assert.deepEqual(arrived, []);
    },
    get length() {
      return arrived.length;
    },
  };
}

/** Puts everything of the kind that a channel hears into an inbox. */
export function hear(channel, kind, filter = { event: "*" }) {
  const box = inbox();
  channel.on(kind, filter, (message) => box.put(message));
  return box;
}

/** Two channels of one topic, both joined, each of a client of its own. */
export async function pair(plinth, topic, options = {}, config = {}) {
  const speaker = plinth.connect(options).channel(topic, { config });
  const listener = plinth.connect(options).channel(topic, { config });
  const heard = hear(listener, "broadcast");
  const own = hear(speaker, "broadcast");
  await Promise.all([subscribe(speaker), subscribe(listener)]);
  return { speaker, listener, heard, own };
}

export function within(promise, what, time = patience) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${time} ms for ${what}`)), time);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
