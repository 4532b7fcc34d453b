// Stands in for `@supabase/supabase-js` in the bundle (the alias in vite.config.ts).
//
// `@supabase/ssr` asks that package for `createClient` and uses nothing but the auth client of the
// result. Making only that one leaves the cookie code untouched and 26 kB of others out.

import { AuthClient } from "@supabase/auth-js";

type Options = {
  auth?: Record<string, unknown>;
  global?: { headers?: Record<string, string>; fetch?: typeof fetch };
};

export function createClient(projectUrl: string, key: string, { auth, global }: Options = {}) {
  return {
    auth: new AuthClient({
      url: `${projectUrl}/auth/v1`,
      headers: { Authorization: `Bearer ${key}`, apikey: key, ...global?.headers },
      fetch: global?.fetch,
      ...auth,
    }),
  };
}
