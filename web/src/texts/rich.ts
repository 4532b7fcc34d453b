// Sentences with links or emphasis inside. They stay whole in the catalogue, so that a language can
// order their parts as it likes; what the parts look like is the page's business.

import { createElement, Fragment, type ReactNode } from "react";

/** Draws some words of a sentence: as a link, for example. */
export type Draw = (words: string) => ReactNode;

/** The tag of a sentence that contains more than text. */
export function rich(words: TemplateStringsArray, ...pieces: ReactNode[]): ReactNode {
  const parts = words.flatMap((text, index) => [text, pieces[index]]);
  return createElement(Fragment, null, ...parts);
}
