// Entry point of the account pages. The first import strips secrets from the URL (lib/redirect-params.ts).
import "../lib/redirect-params";
import "../styles/base.css";

import { settings } from "../lib/settings";
import { chooseLanguage, loadTexts } from "../texts";

async function start() {
  const { language } = await loadTexts(chooseLanguage(navigator.languages, settings.languages));
  document.documentElement.lang = language.tag;
  document.documentElement.dir = language.dir;
  // Modules read their texts when they are evaluated, so the app is imported after them. The page preloads
  // both (scripts/page-parts.mjs).
  const { render } = await import("./render");
  render();
}

void start();
