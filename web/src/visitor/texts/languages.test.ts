// Every language has every text, with the same placeholders.

import { isValidElement, type ReactNode } from "react";
import { beforeAll, describe, expect, expectTypeOf, test } from "vitest";

import { chooseLanguage, type Language, languages, loadTexts, type Texts } from ".";
import { pluralFor } from "../../texts/plural";

/**
 * An argument that leaves a mark, whatever a text does with it: insert it, call it to render a link, read a
 * parameter of an error, or choose a plural by it.
 */
function argument(index: number) {
  const mark = (name: string | number) => `⟦${name}⟧`;
  return Object.assign((text: string) => `${mark(index)}${text}`, {
    toString: () => mark(index),
    toLowerCase: () => mark(index),
    seconds: mark("seconds"),
    provider: mark("provider"),
    // Empty: then the text is shown that the server does not send.
    message: "",
  });
}

/** The text of a sentence, also of one with React nodes. */
function plainText(node: unknown): string {
  if (Array.isArray(node)) return node.map(plainText).join("");
  if (isValidElement<{ children?: ReactNode }>(node)) return plainText(node.props.children);
  return String(node);
}

/** All texts by their path: `signIn.title`. */
function flatten(value: unknown, path: string): [string, string][] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value === "function") {
    const call = value as (...args: unknown[]) => unknown;
    return [[path, plainText(call(...Array.from({ length: call.length }, (_, index) => argument(index))))]];
  }
  return Object.entries(value as object).flatMap(([key, part]) =>
    flatten(part, path ? `${path}.${key}` : key),
  );
}

const placeholders = (text: string) => (text.match(/⟦\w+⟧/g) ?? []).sort();

const catalogues = {} as Record<Language, Map<string, string>>;
const loaded = {} as Record<Language, Texts>;
beforeAll(async () => {
  for (const language of languages) {
    loaded[language] = { ...(await loadTexts(language)) };
    catalogues[language] = new Map(flatten(loaded[language], ""));
  }
  await loadTexts("en");
});

const translations = languages.filter((language) => language !== "en");

/** Words that both languages share. */
const sameAsEnglish = new Set(["Code", "E-mail", "Name", "Passkey", "Passkeys", "Support"]);

describe.each(translations)("%s", (language) => {
  test("has every text", () => {
    expect([...catalogues[language].keys()].sort()).toEqual([...catalogues.en.keys()].sort());
  });

  test("has the placeholders of English", () => {
    for (const [path, text] of catalogues[language]) {
      expect([path, placeholders(text)]).toEqual([path, placeholders(catalogues.en.get(path)!)]);
    }
  });

  test("is translated", () => {
    const same = [...catalogues[language]].filter(
      ([path, text]) => text === catalogues.en.get(path) && /\p{L}/u.test(text) && !sameAsEnglish.has(text),
    );
    // "… in 40 s" and "Single sign-on" are German, too, and "Error: " is Spanish.
    const allowed = ["language.dir", "singleSignOn.title", "common.errorMark", "common.waitToSend"];
    expect(same.filter(([path]) => !allowed.includes(path))).toEqual([]);
  });

  test("names itself", () => {
    expect(loaded[language].language.tag).toBe(language);
  });
});

const word = (alternatives: string) => new RegExp(`(?<!\\p{L})(${alternatives})(?!\\p{L})`, "iu");

/** One form of address per language: Sie, usted, vous, você. */
const familiar: Partial<Record<Language, RegExp>> = {
  de: word("du|dich|dir|dein|deine|deinen|deiner"),
  es: word("tú|tus|tuya|contigo|puedes|tienes|elige|escribe|abre"),
  fr: word("tu|toi|tes|ton"),
  pt: word("tu|teu|tua|contigo|podes|tens"),
};

test.each(Object.entries(familiar))("%s addresses people formally", (language, words) => {
  const found = [...catalogues[language as Language]].filter(([, text]) => words.test(text));
  expect(found).toEqual([]);
});

test("numbers follow the plural rules of the language", () => {
  expect(loaded.en.checks.passwordShort(1)).toBe("Use at least 1 character.");
  expect(loaded.en.common.checkFields(2)).toBe("Check these 2 fields:");
  expect(loaded.de.common.canAskAgain(1)).toMatch(/^In 1 Sekunde /);
  expect(loaded.de.common.canAskAgain(15)).toMatch(/^In 15 Sekunden /);
  expect(loaded.es.passwordHints.length(1)).toBe("Al menos 1 carácter");
  // Zero is singular in French and Portuguese.
  expect(loaded.fr.common.canAskAgain(0)).toBe("Nouvelle demande possible dans 0 seconde.");
  expect(loaded.pt.common.canAskAgain(0)).toBe("Você pode pedir novamente em 0 segundo.");
  expect(pluralFor("fr")(1_000_000, { one: "a", other: "b" })).toBe("b");
});

test.each([
  [["de-AT", "en"], "de"],
  [["pt-BR"], "pt"],
  [["ja", "fr-CA", "en"], "fr"],
  [["EN-us"], "en"],
  [["ja"], "en"],
  [[], "en"],
  [["toString", "constructor"], "en"],
] as [string[], Language][])("a browser with %j gets %s", (preferred, language) => {
  expect(chooseLanguage(preferred, languages)).toBe(language);
});

test("the operator chooses what is offered", () => {
  expect(chooseLanguage(["de", "en"], ["fr", "en"])).toBe("en");
  expect(chooseLanguage(["de"], ["fr", "en"])).toBe("fr");
  expect(chooseLanguage(["de"], ["xx"])).toBe("en");
  expect(chooseLanguage(["de"], [])).toBe("en");
});

test("a language that leaves something out does not compile", () => {
  expectTypeOf<{ justNow: "gerade eben" }>().toExtend<Texts["dates"]>();
  expectTypeOf<{ title: string }>().not.toExtend<Texts["signedOut"]>();
});
