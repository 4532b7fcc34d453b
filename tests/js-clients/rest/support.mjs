// Starts a Plinth with the shipping register of `fixture.sql`, and makes clients for each kind of caller.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";

import { createClient } from "@supabase/supabase-js";

import { startPlinth } from "../support/plinth.mjs";

const fixture = new URL("fixture.sql", import.meta.url);
const config = '[api]\nschemas = ["public", "archive"]\n';

export async function startRegister() {
  const plinth = await startPlinth({
    files: {
      "supabase/config.toml": config,
      "supabase/migrations/1_register.sql": await readFile(fixture, "utf8"),
    },
  });

  /** A client with an API key, by default the publishable one. */
  const client = (key = plinth.keys.publishable, options = {}) =>
    createClient(plinth.apiUrl, key, { auth: { persistSession: false }, ...options });

  /** A client with an access token for these claims, signed with the project's secret. */
  const clientWithClaims = (claims) => {
    const token = signToken(claims, plinth.jwtSecret);
    return client(plinth.keys.publishable, { accessToken: async () => token });
  };

  return { ...plinth, client, clientWithClaims };
}

/** An HS256 token that expires in a minute, unless the claims override it. */
export function signToken(claims, secret) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const payload = { role: "authenticated", aud: "authenticated", exp: now + 60, ...claims };
  const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode(payload)}`;
  const signature = createHmac("sha256", secret).update(signed).digest("base64url");
  return `${signed}.${signature}`;
}

/** Returns the data of a result, which must not be an error. */
export async function expectData(query) {
  const { data, error } = await query;
  assert.equal(error, null, JSON.stringify(error));
  return data;
}

/** Returns status and error of a result, which must be an error. */
export async function expectError(query) {
  const { data, error, status } = await query;
  assert.ok(error, `expected an error, not ${JSON.stringify(data)}`);
  const { code, message, details, hint } = error;
  return { status, code, message, details, hint };
}

/** The values of one column. */
export const column = async (name, query) => (await expectData(query)).map((row) => row[name]);
