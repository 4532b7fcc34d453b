// Answers the console's requests from sample data: `PLINTH_SAMPLE=1 npx vite`, then /console.

import { settings } from "../settings";
import { answer } from "./handler";
import { sessionCookie } from "./session";

/** Returns whether the console can start: without the cookie, the page is loaded again. */
export function installSample(): boolean {
  if (!document.cookie.includes(`${settings.storageKey}=`)) {
    document.cookie = `${sessionCookie(settings.storageKey)}; Path=/; SameSite=Lax`;
    // The auth client has looked already.
    location.reload();
    return false;
  }
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    return /^\/(platform|v1|pg)\//.test(pathname) ? answer(request) : real(input, init);
  };
  return true;
}
