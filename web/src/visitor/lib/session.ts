// The session of these pages, and what is special about some: anonymous users and password resets.

import type { Session } from "@supabase/auth-js";

import { createSessionStore } from "../../lib/session-store";
import { auth } from "./auth-client";
import { clearPageState } from "./navigation";
import { dismissWeakPasswordWarning } from "./weak-password";

export { decodeClaims, needsSecondFactor } from "../../lib/session-store";

export const { useSession, lastAuthEvent } = createSessionStore(auth, (event, session) => {
  if (event === "PASSWORD_RECOVERY" && session && isVerifyingReset) startRecovery(session.user.id);
  if (event === "SIGNED_OUT") {
    endRecovery();
    dismissWeakPasswordWarning();
    clearPageState();
  }
});

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
