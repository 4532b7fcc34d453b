import { CircleCheck } from "lucide-react";
import { useEffect, useSyncExternalStore } from "react";

// A global toast, one at a time, announced politely.

type Toast = { text: string };

let current: Toast = { text: "" };
const listeners = new Set<() => void>();

export function toast(text: string) {
  current = { text };
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const toastDurationMs = 6000;

export function Toaster() {
  const shown = useSyncExternalStore(subscribe, () => current);

  // A new object with the same text is a new toast, and restarts the timer.
  useEffect(() => {
    if (!shown.text) return;
    const timer = setTimeout(() => toast(""), toastDurationMs);
    return () => clearTimeout(timer);
  }, [shown]);

  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-6 z-10 flex justify-center"
    >
      {shown.text && (
        <p className="pointer-events-auto flex max-w-md items-center gap-2.5 rounded-md bg-text px-4 py-3 text-sm text-page shadow-card">
          <CircleCheck aria-hidden className="size-4 shrink-0" />
          {shown.text}
        </p>
      )}
    </div>
  );
}
