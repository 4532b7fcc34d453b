// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";

import themeScript from "../theme.js?raw";
import {
  applyToPage,
  connectPreferences,
  getPreferences,
  pushRecent,
  setPreferences,
  storageKey,
} from "./preferences";

const root = document.documentElement;

afterEach(() => setPreferences({ theme: "system", density: "comfortable", pinnedProjects: [] }));

test("theme and density are set on the root, and kept for the next page", () => {
  setPreferences({ theme: "dark", density: "compact" });

  expect({ ...root.dataset }).toMatchObject({ theme: "dark", density: "compact" });
  delete root.dataset["theme"];
  delete root.dataset["density"];
  // The script that runs before the first paint.
  new Function(themeScript)();
  expect({ ...root.dataset }).toMatchObject({ theme: "dark", density: "compact" });

  setPreferences({ theme: "system", density: "comfortable" });
  expect(root.dataset).not.toHaveProperty("theme");
  expect(root.dataset).not.toHaveProperty("density");
});

test("a storage that holds something else is no obstacle", () => {
  localStorage.setItem(storageKey, "{");

  expect(() => new Function(themeScript)()).not.toThrow();
  expect(() => applyToPage(getPreferences())).not.toThrow();
});

test("what another browser saved is taken over; unknown values are not", () => {
  connectPreferences({ console: { theme: "dark", density: "huge", sidebar: "open" } }, () => {});

  expect(getPreferences()).toMatchObject({ theme: "dark", density: "comfortable", sidebar: "auto" });
});

test("only what follows the operator is saved on the server", () => {
  const save = vi.fn();
  connectPreferences({}, save);

  setPreferences({ sidebar: "closed" });
  expect(save).not.toHaveBeenCalled();

  setPreferences({ theme: "light" });
  expect(save).toHaveBeenCalledWith({
    theme: "light",
    density: "comfortable",
    letterKeys: true,
    pinnedProjects: [],
  });
});

test("recent values are few, and each is there once", () => {
  expect(pushRecent(["a", "b"], "b")).toEqual(["b", "a"]);
  expect(pushRecent(["1", "2", "3", "4", "5", "6", "7", "8"], "9")).toHaveLength(8);
});
