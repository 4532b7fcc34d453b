// Replaces `@supabase/supabase-js` in the bundle (alias in vite.config.ts).
//
// `@supabase/ssr` imports `createClient` from that package, and these pages use only its auth client.
// Creating just that saves 26 kB and leaves the cookie handling unchanged.

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
