// Where the focus goes when a dialog opens.

/** The safe button or the first field; else the dialog itself, not the button that closes it. */
export function focusFirst(dialog: HTMLElement | null): false {
  const target = dialog?.querySelector<HTMLElement>("[data-safe], [data-autofocus], input, textarea, select");
  // After the library has made the dialog visible.
  queueMicrotask(() => (target ?? dialog)?.focus());
  return false;
}
