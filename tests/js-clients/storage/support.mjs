// Buckets and policies served by the real program, and clients of every kind of caller.

import assert from "node:assert/strict";

import { createClient } from "@supabase/supabase-js";

import { signToken } from "../rest/support.mjs";
import { startPlinth } from "../support/plinth.mjs";

// Everybody signed in has a folder of their own in the bucket `home`.
const policies = `
  create policy home on storage.objects to authenticated
    using (bucket_id = 'home' and (storage.foldername(name))[1] = auth.uid()::text)
    with check (bucket_id = 'home' and (storage.foldername(name))[1] = auth.uid()::text);
`;

/** A running Plinth, and clients: `admin` may everything, `client(key)`, `clientOf(claims)`. */
export async function startStorage() {
  const plinth = await startPlinth({ files: { "supabase/migrations/1_home.sql": policies } });
  const client = (key = plinth.keys.publishable, options = {}) =>
    createClient(plinth.apiUrl, key, { auth: { persistSession: false }, ...options });
  const clientOf = (claims) => {
    const token = signToken(claims, plinth.jwtSecret);
    return client(plinth.keys.publishable, { accessToken: async () => token });
  };
  const admin = client(plinth.keys.secret);
  const bucket = async (id, options = { public: false }) => {
    await dataOf(admin.storage.createBucket(id, options));
    return admin.storage.from(id);
  };
  return { ...plinth, admin, client, clientOf, bucket };
}

/** The data of an answer that must not be an error. */
export async function dataOf(answer) {
  const { data, error } = await answer;
  assert.equal(error, null, JSON.stringify(error));
  return data;
}

/** What an application can read of a refusal. */
export async function refusalOf(answer) {
  const { data, error } = await answer;
  assert.ok(error, `expected an error, not ${JSON.stringify(data)}`);
  const { name, status, statusCode, code, message } = error;
  return { name, status, statusCode, code, message };
}

/** A refusal as storage-js reports nearly all of them: by HTTP 400, with the kind in the body. */
export const refusal = (statusCode, code, message) => ({
  name: "StorageApiError",
  status: 400,
  statusCode: String(statusCode),
  code,
  message,
});

/** The text of a download. */
export const textOf = async (answer) => (await dataOf(answer)).text();
