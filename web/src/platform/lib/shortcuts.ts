// Keyboard shortcuts (N9): chords ("mod+k"), single keys ("[") and sequences ("g t"). Single keys can be switched
// off and never fire while something is typed.

import { useEffect, useRef, useSyncExternalStore } from "react";

import { getPreferences } from "./preferences";

export type Shortcut = {
  keys: string;
  /** What it does, for the sheet; shortcuts without it are not listed. */
  label?: string;
  group?: string;
  run: () => void;
};

let active: readonly Shortcut[] = [];
const listeners = new Set<() => void>();
const sequenceMs = 1200;
let prefix: { key: string; at: number } | null = null;

function setActive(next: readonly Shortcut[]) {
  active = next;
  for (const listener of listeners) listener();
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.closest(
      "input:not([type=checkbox],[type=radio]), textarea, select, [role=textbox], .cm-editor",
    ) !== null);

const isModal = () => document.querySelector("[role=dialog][data-dialog]:not([hidden])") !== null;

/** Whether an event is a chord such as "mod+k" or "mod+shift+p". */
function isChord(event: KeyboardEvent, keys: string): boolean {
  const parts = keys.split("+");
  const key = parts.at(-1)!;
  const hasMod = event.ctrlKey || event.metaKey;
  return (
    (event.key.toLowerCase() === key || (key === "/" && event.code === "Slash")) &&
    hasMod === parts.includes("mod") &&
    event.altKey === parts.includes("alt") &&
    (event.shiftKey === parts.includes("shift") || key === "/")
  );
}

/** Finds the shortcut of a key press; exported for tests. */
export function matchShortcut(event: KeyboardEvent, shortcuts: readonly Shortcut[]): Shortcut | undefined {
  const chord = shortcuts.findLast(({ keys }) => keys.includes("+") && isChord(event, keys));
  if (chord) return chord;
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return undefined;
  if (!getPreferences().letterKeys || isModal()) return undefined;

  const now = Date.now();
  const sequence = prefix && now - prefix.at < sequenceMs ? `${prefix.key} ${event.key.toLowerCase()}` : null;
  prefix = null;
  const found =
    shortcuts.findLast(({ keys }) => keys === sequence) ??
    shortcuts.findLast(({ keys }) => keys === event.key || keys === event.key.toLowerCase());
  if (found) return found;
  if (shortcuts.some(({ keys }) => keys.startsWith(`${event.key} `))) prefix = { key: event.key, at: now };
  return undefined;
}

function handle(event: KeyboardEvent) {
  if (event.defaultPrevented || event.repeat || event.isComposing) return;
  const shortcut = matchShortcut(event, active);
  if (!shortcut) return;
  event.preventDefault();
  shortcut.run();
}

/** Registers shortcuts while the component is there; later ones win. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  const signature = shortcuts.map(({ keys, label, group }) => `${keys}|${label}|${group}`).join("\n");
  useEffect(() => {
    const own = latest.current.map((shortcut, index) => ({
      ...shortcut,
      run: () => latest.current[index]?.run(),
    }));
    if (active.length === 0) document.addEventListener("keydown", handle);
    setActive([...active, ...own]);
    return () => {
      setActive(active.filter((other) => !own.includes(other)));
      if (active.length === 0) document.removeEventListener("keydown", handle);
    };
    // The signature stands for the list, which is another one in every render.
    // oxlint-disable-next-line react/exhaustive-deps, react/exhaustive-effect-dependencies
  }, [signature]);
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** All that work now, for the sheet. */
export const useActiveShortcuts = () => useSyncExternalStore(subscribe, () => active);
