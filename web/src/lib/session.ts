// Who is signed in, as React sees it. Follows this tab and, by broadcast, all others.

import type { Session } from "@supabase/auth-js";
import { useSyncExternalStore } from "react";

import { auth } from "./auth-client";
import { forgetCarried } from "./navigation";
import { endAdvice } from "./weak-password";

/** `undefined` until it is known, then a session or `null`. */
let current: Session | null | undefined;
let lastEvent = "";
const listeners = new Set<() => void>();

auth.onAuthStateChange((event, session) => {
  current = session;
  lastEvent = event;
  if (event === "PASSWORD_RECOVERY" && session && isUsingReset) startRecovery(session.user.id);
  if (event === "SIGNED_OUT") {
    endRecovery();
    endAdvice();
    forgetCarried();
  }
  for (const listener of listeners) listener();
});

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSession = () => useSyncExternalStore(subscribe, () => current);

/** The event behind the present state; `SIGNED_OUT` tells an end from a beginning. */
export const sessionEvent = () => lastEvent;

/** The claims of a token. Not verified: for choosing what to show, never for what is allowed. */
export function claimsOf(session: Session): Record<string, unknown> {
  try {
    const part = session.access_token.split(".")[1] ?? "";
    const text = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Whether a second factor is set up but was not shown yet. */
export function needsSecondStep(session: Session): boolean {
  const hasFactor = session.user.factors?.some((factor) => factor.status === "verified") ?? false;
  return hasFactor && claimsOf(session)["aal"] !== "aal2";
}

/** Whether somebody without a name has got one: the account is the same. */
export const hasGotName = (before: Session | null | undefined, now: Session) =>
  before?.user.is_anonymous === true && !now.user.is_anonymous && before.user.id === now.user.id;

// A session that came from a reset link stays on the page that sets the password, also after a reload.
// That is true of the tab which used the link; all others hear of the session as of any other.
const recoveryKey = "plinth-recovery";

let isUsingReset = false;

/** Uses a link or a code of a reset: this tab goes on to choose a password. */
export async function usingReset<T>(call: () => Promise<T>): Promise<T> {
  isUsingReset = true;
  try {
    return await call();
  } finally {
    isUsingReset = false;
  }
}

export const isRecovering = (session: Session | null | undefined) =>
  !!session && sessionStorage.getItem(recoveryKey) === session.user.id;

export const startRecovery = (userId: string) => sessionStorage.setItem(recoveryKey, userId);

export const endRecovery = () => sessionStorage.removeItem(recoveryKey);
