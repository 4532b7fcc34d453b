// Entry point of the account pages. The first import strips secrets from the URL (lib/redirect-params.ts).
import "./lib/redirect-params";
import "../styles/base.css";

import { setWords } from "../texts/words";
import { settings } from "./lib/settings";
import { chooseLanguage, loadTexts } from "./texts";

async function start() {
  const { common, dates, language } = await loadTexts(
    chooseLanguage(navigator.languages, settings.languages),
  );
  setWords({ ...common, justNow: dates.justNow, language: language.tag });
  document.documentElement.lang = language.tag;
  document.documentElement.dir = language.dir;
  // Modules read their texts when they are evaluated, so the app is imported after them. The page preloads
  // both (scripts/page-parts.mjs).
  const { render } = await import("./render");
  render();
}

void start();
