// All user-visible texts (client contract U10), one folder per language. Each language is a chunk of its own;
// `loadTexts` loads one before the app is imported, so modules may read `texts` when they are evaluated.
//
// A language is a folder with the files of `en/`, each typed by its part of `Texts`:
// `export const signIn: Texts["signIn"] = …`.

/** The catalogue that every language must provide. */
export type Texts = typeof import("./en");

const catalogues = {
  en: () => import("./en"),
  de: () => import("./de"),
  es: () => import("./es"),
  fr: () => import("./fr"),
  pt: () => import("./pt"),
} satisfies Record<string, () => Promise<Texts>>;

export type Language = keyof typeof catalogues;

export const languages = Object.keys(catalogues) as Language[];

/** The texts in the language of the page. */
export let texts: Texts;

export async function loadTexts(language: Language): Promise<Texts> {
  texts = await catalogues[language]();
  return texts;
}

/**
 * The first of the browser's languages that is offered. Browsers with none of them get the first offered
 * language. Regions are ignored: there is one text for `de-AT` and `de-CH`.
 */
export function chooseLanguage(preferred: readonly string[], offered: readonly string[]): Language {
  const available = offered.filter((tag): tag is Language => Object.hasOwn(catalogues, tag));
  const wanted = preferred.map((tag) => tag.toLowerCase().split("-")[0]);
  const found = wanted.find((tag) => available.some((language) => language === tag));
  return (found as Language | undefined) ?? available[0] ?? "en";
}
