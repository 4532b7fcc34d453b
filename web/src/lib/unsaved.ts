// Changes that nobody saved yet: leaving asks first.

import { useEffect } from "react";

import * as texts from "../texts";

let isUnsaved = false;

/** Whether the page may be left. */
export function canLeave(): boolean {
  if (!isUnsaved) return true;
  const mayLeave = window.confirm(texts.common.leaveUnsaved);
  if (mayLeave) isUnsaved = false;
  return mayLeave;
}

export function useUnsaved(hasChanges: boolean) {
  // The browser asks before it leaves the document; the router before it leaves the page.
  useEffect(() => {
    isUnsaved = hasChanges;
    if (!hasChanges) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => {
      isUnsaved = false;
      window.removeEventListener("beforeunload", ask);
    };
  }, [hasChanges]);
}
