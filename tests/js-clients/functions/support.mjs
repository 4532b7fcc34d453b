// A Plinth whose functions are under test.

import { createClient } from "@supabase/supabase-js";

import { startAccounts } from "../support/accounts.mjs";

/**
 * A running Plinth with functions by name, and `connect(key)`: a client without a session.
 *
 * @param {Record<string, string>} functions Their `index.ts`, or other files of the folder, by path.
 * @param {Record<string, unknown>} [settings] By path, as `plinth settings` prints them.
 * @param {Record<string, string>} [env] Further environment of the program.
 */
export async function startFunctions(functions, settings = {}, env = {}) {
  const files = Object.entries(functions).map(([name, text]) => [
    `supabase/functions/${name.includes(".") ? name : `${name}/index.ts`}`,
    text,
  ]);
  const plinth = await startAccounts(settings, Object.fromEntries(files), env);
  const connect = (key = plinth.keys.publishable, options = {}) =>
    createClient(plinth.apiUrl, key, { auth: { persistSession: false, autoRefreshToken: false }, ...options });
  return { ...plinth, connect };
}
