// The operator's session: an ordinary session of project zero, shared with its account pages by cookie (N2).

import { createAuthClient } from "../../lib/auth-client";
import { createSessionStore } from "../../lib/session-store";
import { settings } from "../settings";

export const auth = createAuthClient(settings);

export const { useSession, lastAuthEvent } = createSessionStore(auth);

/** The path of an account page of project zero, which returns to where the console is now. */
export function accountPage(path: string, next = currentPath()): string {
  return `${settings.mount}${path}?next=${encodeURIComponent(next)}`;
}

const currentPath = () => location.pathname + location.search;

/** Leaves the console for an account page. */
export const goToAccountPage = (path: string, next?: string) => location.replace(accountPage(path, next));
