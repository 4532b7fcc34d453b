// How the operator likes the console (N10): kept in this browser, so that pages start with it, and in the
// operator's user metadata, so that other browsers have it.

import { useSyncExternalStore } from "react";
import * as shape from "../../lib/shape";

const Preferences = shape.object({
  theme: shape.otherwise(shape.oneOf("system", "light", "dark"), "system"),
  density: shape.otherwise(shape.oneOf("comfortable", "compact"), "comfortable"),
  /** Single letters as shortcuts (N9). */
  letterKeys: shape.otherwise(shape.boolean, true),
  sidebar: shape.otherwise(shape.oneOf("auto", "open", "closed"), "auto"),
  pinnedProjects: shape.otherwise(shape.array(shape.string), []),
  recentProjects: shape.otherwise(shape.array(shape.string), []),
  recentCommands: shape.otherwise(shape.array(shape.string), []),
  projectsView: shape.otherwise(shape.oneOf("table", "cards"), "table"),
});

export type Preferences = shape.Infer<typeof Preferences>;

/** `theme.js` reads it before the page is painted (scripts/theme-script.mjs). */
export const storageKey = "plinth-console";

/** Follow the operator to other browsers. */
const shared = ["theme", "density", "letterKeys", "pinnedProjects"] as const;

function read(): Preferences {
  let stored: unknown = {};
  try {
    stored = JSON.parse(localStorage.getItem(storageKey) ?? "{}");
  } catch {
    // Storage may be off, or hold something else.
  }
  return shape.otherwise(Preferences, Preferences({}))(stored);
}

let current = read();
const listeners = new Set<() => void>();
let saveShared: (preferences: Record<string, unknown>) => void = () => {};

function apply(next: Preferences): void {
  current = next;
  try {
    localStorage.setItem(storageKey, JSON.stringify(next));
  } catch {
    // Private windows: the preferences last as long as the page.
  }
  applyToPage(next);
  for (const listener of listeners) listener();
}

/** Sets theme and density on the root element. */
export function applyToPage({ theme, density }: Preferences): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
  if (density === "comfortable") delete dataset["density"];
  else dataset["density"] = density;
}

export function setPreferences(changes: Partial<Preferences>): void {
  apply({ ...current, ...changes });
  if (shared.some((name) => name in changes)) {
    saveShared(Object.fromEntries(shared.map((name) => [name, current[name]])));
  }
}

/** Takes over what another browser has saved, and saves changes there from now on. */
export function connectPreferences(
  metadata: Record<string, unknown> | undefined,
  save: (preferences: Record<string, unknown>) => void,
): void {
  saveShared = save;
  const remote = metadata?.["console"];
  if (typeof remote !== "object" || !remote) return;
  const known = Object.fromEntries(
    Object.entries(remote).filter(([name]) => shared.some((own) => own === name)),
  );
  apply(Preferences({ ...current, ...known }));
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const getPreferences = () => current;
export const usePreferences = () => useSyncExternalStore(subscribe, getPreferences);

const maxRecent = 8;

/** Puts a value first, once. */
export const pushRecent = (list: readonly string[], value: string) =>
  [value, ...list.filter((other) => other !== value)].slice(0, maxRecent);
