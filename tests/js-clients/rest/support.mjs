// The register of `fixture.sql` served by the real program, and clients of every kind of caller.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";

import { createClient } from "@supabase/supabase-js";

import { startPlinth } from "../support/plinth.mjs";

const fixture = new URL("fixture.sql", import.meta.url);
const config = '[api]\nschemas = ["public", "archive"]\n';

/** A running Plinth with the register in it. */
export async function startRegister() {
  const plinth = await startPlinth({
    files: {
      "supabase/config.toml": config,
      "supabase/migrations/1_register.sql": await readFile(fixture, "utf8"),
    },
  });

  /** A client with one of the keys, by default the one that browsers get. */
  const client = (key = plinth.keys.publishable, options = {}) =>
    createClient(plinth.apiUrl, key, { auth: { persistSession: false }, ...options });

  /** A client whose user is signed in: its token is signed with the project's secret. */
  const clientOf = (claims) => {
    const token = signToken(claims, plinth.jwtSecret);
    return client(plinth.keys.publishable, { accessToken: async () => token });
  };

  return { ...plinth, client, clientOf };
}

/** A token (HS256) that ends in a minute unless the claims say otherwise. */
export function signToken(claims, secret) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const payload = { role: "authenticated", aud: "authenticated", exp: now + 60, ...claims };
  const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode(payload)}`;
  const signature = createHmac("sha256", secret).update(signed).digest("base64url");
  return `${signed}.${signature}`;
}

/** The data of an answer that must not be an error. */
export async function dataOf(query) {
  const { data, error } = await query;
  assert.equal(error, null, JSON.stringify(error));
  return data;
}

/** Status and error of an answer that must be one. */
export async function refusalOf(query) {
  const { data, error, status } = await query;
  assert.ok(error, `expected an error, not ${JSON.stringify(data)}`);
  const { code, message, details, hint } = error;
  return { status, code, message, details, hint };
}

/** One column of all rows. */
export const column = async (name, query) => (await dataOf(query)).map((row) => row[name]);
