// The few words that components of both applications say themselves; those of the console only are in kit-words.ts. The account pages set them from their catalogue; the
// console speaks English. Everything else a component shows is passed to it.

const english = {
  /** BCP 47; dates and numbers follow its conventions. */
  language: "en",
  cancel: "Cancel",
  close: "Close",
  copy: "Copy",
  copied: "Copied",
  notCopied: "Not copied: select it",
  tryAgain: "Try again",
  justNow: "just now",
  /** Prefix of errors for screen readers, and of the document title. */
  errorMark: "Error: ",
  /** Above the links to several fields that are wrong. */
  checkFields: (count: number) => `Check ${count === 1 ? "this field" : `these ${count} fields`}:`,
};

export type Words = typeof english;

export let words: Words = english;

/** Called before the app is imported: modules may read words when they are evaluated. */
export function setWords(translated: Partial<Words>): void {
  words = { ...english, ...translated };
}
