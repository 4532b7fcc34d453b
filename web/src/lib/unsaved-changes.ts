// Asks before a page with unsaved changes is left (components/leave-dialog.tsx). Leaving the document is
// the browser's question: scripts cannot replace it.

import { useEffect, useSyncExternalStore } from "react";

/** The page with unsaved changes. */
let dirtyPage: { href: string; state: unknown } | null = null;

/** The question that is shown. */
type Question = { answer: (mayLeave: boolean) => void };

let question: Question | null = null;
const listeners = new Set<() => void>();

function setQuestion(next: Question | null) {
  question = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The question to show, if any. */
export const useLeaveQuestion = () => useSyncExternalStore(subscribe, () => question);

/** Runs `leave` at once, or after the user agreed to lose their changes. */
export function leavePage(leave: () => void): void {
  if (!dirtyPage) return leave();
  const answer = (mayLeave: boolean) => {
    if (question?.answer !== answer) return;
    setQuestion(null);
    if (!mayLeave) return;
    dirtyPage = null;
    leave();
  };
  setQuestion({ answer });
}

// `popstate` fires after the URL changed. The old URL is restored before the router sees the event; this
// listener is registered first, and listeners run in order of registration.
window.addEventListener("popstate", (event) => {
  if (!dirtyPage) return;
  event.stopImmediatePropagation();
  window.history.pushState(dirtyPage.state, "", dirtyPage.href);
  leavePage(() => window.history.back());
});

export function useUnsavedChanges(hasChanges: boolean) {
  // `beforeunload` covers leaving the document; the router calls `leavePage` for its own navigations.
  useEffect(() => {
    if (!hasChanges) return;
    dirtyPage = { href: window.location.href, state: window.history.state as unknown };
    const ask = (event: BeforeUnloadEvent) => {
      if (dirtyPage) event.preventDefault();
    };
    window.addEventListener("beforeunload", ask);
    return () => {
      dirtyPage = null;
      setQuestion(null);
      window.removeEventListener("beforeunload", ask);
    };
  }, [hasChanges]);
}
