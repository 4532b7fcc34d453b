// How dates, times and names of countries are written.

import * as texts from "../texts";

const languageOf = (tag: string) => new Intl.Locale(tag).language;

/** The reader's own variety of the pages' language: British dates in English, but no German ones. */
export function localeFor(readers: readonly string[], pages: string): string {
  return readers.find((tag) => languageOf(tag) === languageOf(pages)) ?? pages;
}

export const locale = localeFor(globalThis.navigator?.languages ?? [], texts.language.tag);
