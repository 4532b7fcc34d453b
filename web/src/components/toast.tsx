import clsx from "clsx";
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { useEffect, useSyncExternalStore } from "react";

import { kitWords } from "../texts/kit-words";

// Messages at the edge of the window, announced politely. Errors are shown in place; here they are only told
// for work that has no place on the page, such as jobs.

export type ToastOptions = {
  tone?: "good" | "danger";
  /** One way to go on, such as undoing. */
  action?: { label: string; run: () => void };
  durationMs?: number;
};

type Toast = ToastOptions & { id: number; text: string };

const maxShown = 3;
const defaultDurationMs = 6000;
/** Time to read and to reach the button. */
const actionDurationMs = 10_000;

let shown: Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function setShown(next: Toast[]) {
  shown = next;
  for (const listener of listeners) listener();
}

export function toast(text: string, options: ToastOptions = {}): void {
  lastId += 1;
  setShown(
    [...shown.filter((other) => other.text !== text), { ...options, id: lastId, text }].slice(-maxShown),
  );
}

const dismiss = (id: number) => setShown(shown.filter((other) => other.id !== id));

/** Removes all, for tests. */
export const clearToasts = () => setShown([]);

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Once per page. */
export function Toaster({ place = "center" }: { place?: "center" | "end" }) {
  const toasts = useSyncExternalStore(subscribe, () => shown);
  return (
    <div
      role="status"
      aria-live="polite"
      className={clsx(
        "pointer-events-none fixed inset-x-4 bottom-6 z-50 flex flex-col gap-2",
        place === "center" ? "items-center" : "items-center sm:items-end",
      )}
    >
      {toasts.map((each) => (
        <ToastMessage key={each.id} {...each} />
      ))}
    </div>
  );
}

function ToastMessage({ id, text, tone = "good", action, durationMs }: Toast) {
  const duration = durationMs ?? (action ? actionDurationMs : defaultDurationMs);
  useEffect(() => {
    const timer = setTimeout(() => dismiss(id), duration);
    return () => clearTimeout(timer);
  }, [id, duration]);
  const Icon = tone === "good" ? CircleCheck : CircleAlert;
  return (
    <div className="pointer-events-auto flex max-w-md animate-[appear_150ms] items-center gap-2.5 rounded-md bg-text px-4 py-3 text-sm text-page shadow-card">
      <Icon aria-hidden className="size-4 shrink-0" />
      <p className="min-w-0 [overflow-wrap:anywhere]">{text}</p>
      {action && (
        <>
          <button
            type="button"
            className="shrink-0 rounded-md px-1.5 py-0.5 font-medium underline underline-offset-4"
            onClick={() => {
              dismiss(id);
              action.run();
            }}
          >
            {action.label}
          </button>
          <button
            type="button"
            aria-label={kitWords.dismiss}
            className="-me-1 p-1"
            onClick={() => dismiss(id)}
          >
            <X aria-hidden className="size-3.5" />
          </button>
        </>
      )}
    </div>
  );
}
