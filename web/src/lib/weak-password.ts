// Advice after signing in with a password that would not be accepted today (client contract S85). It is for
// the one who signed in with it, and for nobody who uses the same tab later.

import { useSyncExternalStore } from "react";

const key = "plinth-weak-password";
const listeners = new Set<() => void>();

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell() {
  for (const listener of listeners) listener();
}

export function adviseNewPassword(userId: string) {
  sessionStorage.setItem(key, userId);
  tell();
}

export function endAdvice() {
  sessionStorage.removeItem(key);
  tell();
}

/** Whether somebody is advised. The answer of the sign-in may come after their page is there. */
export const useAdvice = (userId: string) =>
  useSyncExternalStore(subscribe, () => sessionStorage.getItem(key) === userId);
