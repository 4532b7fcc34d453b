// Warning after a sign-in with a password that the current rules reject (client contract S85). Stored per
// user id, so that the next user of the same tab does not see it.

import { useSyncExternalStore } from "react";

const storageKey = "plinth-weak-password";
const listeners = new Set<() => void>();

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notifyListeners() {
  for (const listener of listeners) listener();
}

export function showWeakPasswordWarning(userId: string) {
  sessionStorage.setItem(storageKey, userId);
  notifyListeners();
}

export function dismissWeakPasswordWarning() {
  sessionStorage.removeItem(storageKey);
  notifyListeners();
}

/** A store, because the sign-in response may arrive after the account page has rendered. */
export const useWeakPasswordWarning = (userId: string) =>
  useSyncExternalStore(subscribe, () => sessionStorage.getItem(storageKey) === userId);
