// Starts a Plinth with edge functions.

import { createClient } from "@supabase/supabase-js";

import { startAccounts } from "../support/accounts.mjs";

/**
 * A running Plinth with functions, and `connect(key)`, which returns a client without a session.
 *
 * @param {Record<string, string>} functions `index.ts` by function name, or other files by path.
 * @param {Record<string, unknown>} [settings] By path, as `plinth settings` prints them.
 * @param {Record<string, string>} [env] Additional environment variables.
 */
export async function startFunctions(functions, settings = {}, env = {}) {
  const files = Object.entries(functions).map(([name, text]) => [
    `supabase/functions/${name.includes(".") ? name : `${name}/index.ts`}`,
    text,
  ]);
  // Workers have a low priority, and other tests keep the processors busy.
  const unhurried = { "plinth.functions.boot_timeout": "1m", ...settings };
  const plinth = await startAccounts(unhurried, Object.fromEntries(files), env);
  const connect = (key = plinth.keys.publishable, options = {}) =>
    createClient(plinth.apiUrl, key, { auth: { persistSession: false, autoRefreshToken: false }, ...options });
  return { ...plinth, connect };
}
