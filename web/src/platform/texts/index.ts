// All texts of the console. It speaks English; another language is a folder beside `en` whose files are typed
// by their part of `Texts`, loaded like those of the account pages (src/visitor/texts).

import * as en from "./en";

export type Texts = typeof en;

export const texts: Texts = en;
