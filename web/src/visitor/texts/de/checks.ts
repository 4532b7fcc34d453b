import type { Texts } from "..";
import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("de");
const characters = (count: number) => `${count} ${plural(count, { other: "Zeichen" })}`;

export const checks: Texts["checks"] = {
  emailMissing: "Geben Sie Ihre E-Mail-Adresse ein.",
  emailWrong: "Geben Sie eine gültige E-Mail-Adresse ein.",
  passwordMissing: "Geben Sie ein Passwort ein.",
  passwordShort: (length) => `Verwenden Sie mindestens ${characters(length)}.`,
  passwordLong: "Verwenden Sie ein kürzeres Passwort.",
  yourPasswordMissing: "Geben Sie Ihr Passwort ein.",
  currentPasswordMissing: "Geben Sie Ihr jetziges Passwort ein.",
  phoneWrong: "Geben Sie eine Nummer wie +49 170 1234567 ein.",
  codeShort: (length) => `Geben Sie die ${length} Ziffern des Codes ein.`,
  nameMissing: "Vergeben Sie einen Namen.",
  required: (label) => `„${label}“ muss ausgefüllt werden.`,
  consentMissing: "Bitte stimmen Sie zu, um fortzufahren.",
};

export const passwordHints: Texts["passwordHints"] = {
  length: (length) => `Mindestens ${characters(length)}`,
  small: "Enthält einen Kleinbuchstaben",
  capital: "Enthält einen Großbuchstaben",
  letter: "Enthält einen Buchstaben",
  digit: "Enthält eine Ziffer",
  symbol: "Enthält ein Sonderzeichen wie ! oder ?",
};
