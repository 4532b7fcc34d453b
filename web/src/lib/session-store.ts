// The session of an auth client as a React store. Changes in other tabs arrive by BroadcastChannel.

import type { AuthChangeEvent, Session } from "@supabase/auth-js";
import { useSyncExternalStore } from "react";

import type { AuthClient } from "./auth-client";

/** `undefined` while loading, then a session or `null`. */
type Current = Session | null | undefined;

export function createSessionStore(
  auth: Pick<AuthClient, "onAuthStateChange">,
  onChange: (event: AuthChangeEvent, session: Session | null) => void = () => {},
) {
  let current: Current;
  let lastEvent = "";
  const listeners = new Set<() => void>();

  auth.onAuthStateChange((event, session) => {
    current = session;
    lastEvent = event;
    onChange(event, session);
    for (const listener of listeners) listener();
  });

  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    useSession: () => useSyncExternalStore(subscribe, () => current),
    /** The event of the last change; `SIGNED_OUT` distinguishes a lost session from none at all. */
    lastAuthEvent: () => lastEvent,
  };
}

/** Claims of the access token. Not verified: for display only, never for authorization. */
export function decodeClaims(session: Session): Record<string, unknown> {
  try {
    const payload = session.access_token.split(".")[1] ?? "";
    const text = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Whether the user has a verified factor but the session is only `aal1`. */
export function needsSecondFactor(session: Session): boolean {
  const hasFactor = session.user.factors?.some((factor) => factor.status === "verified") ?? false;
  return hasFactor && decodeClaims(session)["aal"] !== "aal2";
}
