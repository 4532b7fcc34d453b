// The published client, as the tests of accounts use it.

import assert from "node:assert/strict";

import { createClient } from "@supabase/supabase-js";

let clients = 0;

/**
 * A client that remembers its session only for itself.
 *
 * @param {object} plinth Where.
 * @param {object} [auth] Its options about accounts.
 * @param {string} [key] By default the one that browsers get.
 */
export function connect(plinth, auth = {}, key = plinth.keys.publishable) {
  clients += 1;
  const quiet = { persistSession: false, autoRefreshToken: false, storageKey: `client-${clients}` };
  return createClient(plinth.apiUrl, key, { auth: { ...quiet, ...auth } });
}

/** A client that may do anything. */
export const connectAsAdmin = (plinth) => connect(plinth, {}, plinth.keys.secret);

/** The data of an answer that must not be an error. */
export async function done(answer) {
  const { data, error } = await answer;
  assert.equal(error, null, `${error?.status} ${error?.code}: ${error?.message}`);
  return data;
}

/** Status and code of an answer that must be an error. */
export async function refusal(answer) {
  const { data, error } = await answer;
  assert.ok(error, `expected an error, not ${JSON.stringify(data)}`);
  return [error.status, error.code];
}

/** Whether the server still takes the access token of a session. */
export async function isAlive(plinth, { access_token: token }) {
  const { error } = await connect(plinth).auth.getUser(token);
  if (error) assert.equal(error.name, "AuthSessionMissingError", error.message);
  return error === null;
}

/** What an access token says. */
export const claimsOf = ({ access_token: token }) =>
  JSON.parse(Buffer.from(token.split(".")[1], "base64url"));

/** How the session came to be, the newest way first. */
export const methodsOf = (session) => claimsOf(session).amr.map(({ method }) => method);
