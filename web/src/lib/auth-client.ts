// The auth client of a project. It keeps the session in cookies, so that servers on the same host can read it.

import { createBrowserClient } from "@supabase/ssr";

import { recordErrorResponse } from "./failure";
import { removeRootCookies } from "./root-cookies";

/** Where a project's services are, and where its session is kept. */
export type ProjectAccess = {
  /** Base URL of the project's services. */
  projectUrl: string;
  /** The project's publishable key. */
  key: string;
  /** Name of the session cookies. */
  storageKey: string;
  /** Path of the session cookies: the project's, where it shares its host with others. */
  cookiePath: string;
};

export type AuthClient = ReturnType<typeof createAuthClient>;

export function createAuthClient({ projectUrl, key, storageKey, cookiePath }: ProjectAccess) {
  removeRootCookies(document, storageKey, cookiePath);
  return createBrowserClient(projectUrl, key, {
    // Same attributes as `@supabase/ssr` on a server of this host: `Secure` over TLS.
    cookieOptions: { name: storageKey, path: cookiePath, secure: location.protocol === "https:" },
    // Pages that expect codes in the URL take them from there themselves.
    auth: { detectSessionInUrl: false },
    global: {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        await recordErrorResponse(response);
        return response;
      },
    },
  }).auth;
}
