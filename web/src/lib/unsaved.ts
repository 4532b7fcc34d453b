// Changes that nobody saved yet: leaving asks first.

import { useEffect } from "react";

import * as texts from "../texts";

/** The page with changes, to come back to. */
let unsaved: { href: string; state: unknown } | null = null;

/** Whether the page may be left. */
export function canLeave(): boolean {
  if (!unsaved) return true;
  const mayLeave = window.confirm(texts.common.leaveUnsaved);
  if (mayLeave) unsaved = null;
  return mayLeave;
}

// The buttons for back and forward have left already when this is heard. Whoever wants to stay is brought
// back before the router hears of it, so this must listen first: windows tell listeners in their order.
window.addEventListener("popstate", (event) => {
  const page = unsaved;
  if (!page || canLeave()) return;
  event.stopImmediatePropagation();
  window.history.pushState(page.state, "", page.href);
});

export function useUnsaved(hasChanges: boolean) {
  // The browser asks before it leaves the document; the router before it leaves the page.
  useEffect(() => {
    if (!hasChanges) return;
    unsaved = { href: window.location.href, state: window.history.state as unknown };
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => {
      unsaved = null;
      window.removeEventListener("beforeunload", ask);
    };
  }, [hasChanges]);
}
