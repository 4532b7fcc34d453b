// supabase-js clients and assertions for the auth tests.

import assert from "node:assert/strict";

import { createClient } from "@supabase/supabase-js";

let clientCount = 0;

/**
 * A client with an in-memory session of its own.
 *
 * @param {object} plinth
 * @param {object} [auth] Options of the auth client.
 * @param {string} [key] By default the publishable key.
 */
export function connect(plinth, auth = {}, key = plinth.keys.publishable) {
  clientCount += 1;
  const defaults = { persistSession: false, autoRefreshToken: false, storageKey: `client-${clientCount}` };
  return createClient(plinth.apiUrl, key, { auth: { ...defaults, ...auth } });
}

/** A client with the secret key. */
export const connectAsAdmin = (plinth) => connect(plinth, {}, plinth.keys.secret);

/** Returns the data of a result, which must not be an error. */
export async function expectData(result) {
  const { data, error } = await result;
  assert.equal(error, null, `${error?.status} ${error?.code}: ${error?.message}`);
  return data;
}

/** Returns status and code of a result, which must be an error. */
export async function expectError(result) {
  const { data, error } = await result;
  assert.ok(error, `expected an error, not ${JSON.stringify(data)}`);
  return [error.status, error.code];
}

/** Whether the server still accepts the access token of a session. */
export async function isSessionValid(plinth, { access_token: token }) {
  const { error } = await connect(plinth).auth.getUser(token);
  if (error) assert.equal(error.name, "AuthSessionMissingError", error.message);
  return error === null;
}

/** The claims of a session's access token. */
export const decodeClaims = ({ access_token: token }) =>
  JSON.parse(Buffer.from(token.split(".")[1], "base64url"));

/** The `amr` methods of a session, newest first. */
export const authMethods = (session) => decodeClaims(session).amr.map(({ method }) => method);
