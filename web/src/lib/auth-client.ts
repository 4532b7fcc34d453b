// The one client of these pages: a session in cookies that servers on the same host read, too.

import { createBrowserClient } from "@supabase/ssr";

import { noteRefusal } from "./failure";
import { settings } from "./settings";

export const auth = createBrowserClient(settings.projectUrl, settings.key, {
  // Servers on this host write the same cookies, and over TLS with `Secure`.
  cookieOptions: { name: settings.storageKey, secure: location.protocol === "https:" },
  // Addresses with codes are handled by the pages that expect them (arrival.ts).
  auth: { detectSessionInUrl: false },
  global: {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      await noteRefusal(response);
      return response;
    },
  },
}).auth;
