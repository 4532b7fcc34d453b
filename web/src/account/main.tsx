// Where the account pages begin. The address is cleaned before anything else (lib/arrival.ts).
import "../lib/arrival";
import "../styles/base.css";

import { createRoot } from "react-dom/client";

import { keepFocus } from "../lib/lost-focus";
import { settings } from "../lib/settings";
import { App } from "./app";

// Set by script: the policy of the page allows no inline style.
if (settings.accent) document.documentElement.style.setProperty("--accent", settings.accent);

keepFocus();
createRoot(document.getElementById("root")!).render(<App />);
