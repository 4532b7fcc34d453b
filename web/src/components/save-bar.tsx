import { type ReactNode, useEffect } from "react";

import { useUnsavedChanges } from "../lib/unsaved-changes";
import { kitWords } from "../texts/kit-words";
import { Button } from "./button";
import { Keys } from "./keys";

type Props = {
  /** Whether there is something to save. */
  isDirty: boolean;
  isBusy: boolean;
  onSave: () => void;
  onDiscard: () => void;
  /** What has changed, or what is wrong. */
  children?: ReactNode;
};

/** At the end of a form while it has changes: saves or discards them, also by Ctrl Enter. */
export function SaveBar({ isDirty, isBusy, onSave, onDiscard, children }: Props) {
  useUnsavedChanges(isDirty);
  useEffect(() => {
    if (!isDirty) return;
    const save = (event: KeyboardEvent) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      onSave();
    };
    document.addEventListener("keydown", save);
    return () => document.removeEventListener("keydown", save);
  }, [isDirty, onSave]);

  if (!isDirty) return null;
  return (
    <section
      aria-label={kitWords.unsaved}
      className="sticky bottom-3 z-20 flex animate-[appear_150ms] flex-wrap items-center justify-between gap-3 rounded-lg bg-raised px-4 py-2.5 shadow-float"
    >
      <div role="status" className="text-dense text-soft">
        {children ?? kitWords.unsaved}
      </div>
      <div className="flex items-center gap-2">
        <Button variant="ghost" onClick={onDiscard} disabled={isBusy}>
          {kitWords.discard}
        </Button>
        <Button onClick={onSave} isBusy={isBusy} busyLabel={kitWords.saving}>
          {kitWords.saveChanges}
          <span className="max-sm:hidden">
            <Keys keys="mod+enter" tone="inverse" />
          </span>
        </Button>
      </div>
    </section>
  );
}
