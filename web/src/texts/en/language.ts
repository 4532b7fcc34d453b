/** The `lang` and `dir` of the page; dates and names of countries follow it, too. */
export const language = { tag: "en", dir: "ltr" as "ltr" | "rtl" };
