import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";

import { texts } from "../texts";

type Props = { title: string; onClose: () => void; children: ReactNode };

/** A modal dialog over the native element, which traps the focus. */
export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  // `showModal` has no attribute equivalent.
  useEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement as HTMLElement | null;
    if (element && !element.open) {
      element.showModal();
      // Focus the first input, or the safe choice.
      element.querySelector<HTMLElement>("form input, [data-safe]")?.focus();
    }
    return () => {
      element?.close();
      opener?.focus();
    };
  }, []);

  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className="m-auto w-[min(27rem,calc(100vw-2rem))] rounded-lg border border-line bg-surface p-6 text-text shadow-card backdrop:bg-(--overlay)"
    >
      <div className="mb-4 flex items-start justify-between gap-4">
        <h2 id={titleId} tabIndex={-1} className="text-lg font-semibold">
          {title}
        </h2>
        <button
          type="button"
          aria-label={texts.common.close}
          onClick={onClose}
          className="-me-2 -mt-1 grid size-9 shrink-0 place-items-center rounded-md text-soft hover:bg-hover hover:text-text"
        >
          <X aria-hidden className="size-5" />
        </button>
      </div>
      <div className="grid gap-5">{children}</div>
    </dialog>
  );
}

export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap-reverse justify-end gap-3">{children}</div>;
}
