// The locale for dates, times and country names.

import { words } from "../texts/words";

const languageOf = (tag: string) => new Intl.Locale(tag).language;

/** The user's regional variant of the UI language: `en-GB` for English, but never `de`. */
export function localeFor(preferred: readonly string[], uiLanguage: string): string {
  return preferred.find((tag) => languageOf(tag) === languageOf(uiLanguage)) ?? uiLanguage;
}

export const locale = localeFor(globalThis.navigator?.languages ?? [], words.language);
