// Entry point of the console.
import "../styles/console.css";

import { createRoot } from "react-dom/client";

import { restoreLostFocus } from "../lib/restore-focus";
import { App } from "./app";
import { applyToPage, getPreferences } from "./lib/preferences";

async function start() {
  // Left out of builds: the condition is `false` there.
  if (__PLINTH_SAMPLE__ && !(await import("./sample/install")).installSample()) return;
  applyToPage(getPreferences());
  restoreLostFocus();
  createRoot(document.getElementById("root")!).render(<App />);
}

void start();
