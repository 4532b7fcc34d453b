// Set-up of all tests; those that render are in `*.test.tsx` and name their environment: happy-dom.

import "@testing-library/jest-dom/vitest";

import { cleanup, configure } from "@testing-library/react";
import { afterEach, vi } from "vitest";

// Screens are loaded when they are opened, which takes its time on a busy machine.
configure({ asyncUtilTimeout: 20_000 });

afterEach(() => {
  if (typeof document === "undefined") return;
  cleanup();
  localStorage.clear();
  sessionStorage.clear();
  vi.useRealTimers();
});
