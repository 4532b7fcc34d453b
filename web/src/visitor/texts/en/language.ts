/** `lang` and `dir` of the page, and the language of dates and country names. */
export const language = { tag: "en", dir: "ltr" as "ltr" | "rtl" };
