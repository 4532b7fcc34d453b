import { createRoot } from "react-dom/client";

import { restoreLostFocus } from "../lib/restore-focus";
import { settings } from "./lib/settings";
import { App } from "./app";

export function render() {
  // Set by script, because the Content-Security-Policy forbids inline styles.
  if (settings.accent) document.documentElement.style.setProperty("--accent", settings.accent);
  restoreLostFocus();
  createRoot(document.getElementById("root")!).render(<App />);
}
