// The auth client. It keeps the session in cookies, so that servers on the same host can read it.

import { createBrowserClient } from "@supabase/ssr";

import { removeRootCookies } from "./root-cookies";
import { recordErrorResponse } from "./failure";
import { settings } from "./settings";

removeRootCookies(document, settings.storageKey, settings.cookiePath);

export const auth = createBrowserClient(settings.projectUrl, settings.key, {
  // Same attributes as `@supabase/ssr` on a server of this host: `Secure` over TLS.
  cookieOptions: {
    name: settings.storageKey,
    path: settings.cookiePath,
    secure: location.protocol === "https:",
  },
  // `/confirm` and `/callback` handle codes in the URL (redirect-params.ts).
  auth: { detectSessionInUrl: false },
  global: {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      await recordErrorResponse(response);
      return response;
    },
  },
}).auth;
