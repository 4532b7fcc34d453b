// The session as a React store. Changes in other tabs arrive by BroadcastChannel.

import type { Session } from "@supabase/auth-js";
import { useSyncExternalStore } from "react";

import { auth } from "./auth-client";
import { clearPageState } from "./navigation";
import { dismissWeakPasswordWarning } from "./weak-password";

/** `undefined` while loading, then a session or `null`. */
let current: Session | null | undefined;
let lastEvent = "";
const listeners = new Set<() => void>();

auth.onAuthStateChange((event, session) => {
  current = session;
  lastEvent = event;
  if (event === "PASSWORD_RECOVERY" && session && isVerifyingReset) startRecovery(session.user.id);
  if (event === "SIGNED_OUT") {
    endRecovery();
    dismissWeakPasswordWarning();
    clearPageState();
  }
  for (const listener of listeners) listener();
});

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSession = () => useSyncExternalStore(subscribe, () => current);

/** The event of the last change; `SIGNED_OUT` distinguishes a lost session from none at all. */
export const lastAuthEvent = () => lastEvent;

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

/** Whether an anonymous user became a permanent one with the same id. */
export const isAnonymousUpgrade = (before: Session | null | undefined, now: Session) =>
  before?.user.is_anonymous === true && !now.user.is_anonymous && before.user.id === now.user.id;

// A session from a reset link stays on `/reset-password`, also after a reload. This applies to the tab that
// used the link; other tabs treat it as an ordinary session.
const recoveryKey = "plinth-recovery";

let isVerifyingReset = false;

/** Runs the call that verifies a reset code, so that this tab continues with `/reset-password`. */
export async function duringPasswordReset<T>(call: () => Promise<T>): Promise<T> {
  isVerifyingReset = true;
  try {
    return await call();
  } finally {
    isVerifyingReset = false;
  }
}

export const isRecovering = (session: Session | null | undefined) =>
  !!session && sessionStorage.getItem(recoveryKey) === session.user.id;

export const startRecovery = (userId: string) => sessionStorage.setItem(recoveryKey, userId);

export const endRecovery = () => sessionStorage.removeItem(recoveryKey);
