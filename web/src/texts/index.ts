// The words of the pages (client contract U10). This is the one place that chooses their language.
//
// A language is a folder with the files of `en/`, each written against its part of `Texts`:
// `export const signIn: Texts["signIn"] = …`. One build speaks one language. Words that only members
// need stay in files of their own, and so out of what guests load.

export * from "./en";

/** What every language has to say. */
export type Texts = typeof import("./en");
