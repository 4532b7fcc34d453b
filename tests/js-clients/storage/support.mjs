// Starts a Plinth for storage tests, and makes clients for each kind of caller.

import assert from "node:assert/strict";

import { createClient } from "@supabase/supabase-js";

import { signToken } from "../rest/support.mjs";
import { startPlinth } from "../support/plinth.mjs";

// Each user has a folder in the bucket `home`.
const policies = `
  create policy home on storage.objects to authenticated
    using (bucket_id = 'home' and (storage.foldername(name))[1] = auth.uid()::text)
    with check (bucket_id = 'home' and (storage.foldername(name))[1] = auth.uid()::text);
`;

/** A running Plinth, and clients: `admin` (secret key), `client(key)`, `clientWithClaims(claims)`. */
export async function startStorage() {
  const plinth = await startPlinth({ files: { "supabase/migrations/1_home.sql": policies } });
  const client = (key = plinth.keys.publishable, options = {}) =>
    createClient(plinth.apiUrl, key, { auth: { persistSession: false }, ...options });
  const clientWithClaims = (claims) => {
    const token = signToken(claims, plinth.jwtSecret);
    return client(plinth.keys.publishable, { accessToken: async () => token });
  };
  const admin = client(plinth.keys.secret);
  const bucket = async (id, options = { public: false }) => {
    await expectData(admin.storage.createBucket(id, options));
    return admin.storage.from(id);
  };
  return { ...plinth, admin, client, clientWithClaims, bucket };
}

/** Returns the data of a result, which must not be an error. */
export async function expectData(result) {
  const { data, error } = await result;
  assert.equal(error, null, JSON.stringify(error));
  return data;
}

/** Returns the public fields of a result, which must be an error. */
export async function expectError(result) {
  const { data, error } = await result;
  assert.ok(error, `expected an error, not ${JSON.stringify(data)}`);
  const { name, status, statusCode, code, message } = error;
  return { name, status, statusCode, code, message };
}

/** An error as storage-js reports it: HTTP 400 for nearly all, with the status code in the body. */
export const apiError = (statusCode, code, message) => ({
  name: "StorageApiError",
  status: 400,
  statusCode: String(statusCode),
  code,
  message,
});

/** The text of a download. */
export const textOf = async (result) => (await expectData(result)).text();
