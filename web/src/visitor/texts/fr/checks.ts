import type { Texts } from "..";
import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("fr");
const characters = (count: number) => `${count} ${plural(count, { one: "caractère", other: "caractères" })}`;

export const checks: Texts["checks"] = {
  emailMissing: "Saisissez votre adresse e-mail.",
  emailWrong: "Saisissez une adresse e-mail valide.",
  passwordMissing: "Saisissez un mot de passe.",
  passwordShort: (length) => `Utilisez au moins ${characters(length)}.`,
  passwordLong: "Utilisez un mot de passe plus court.",
  yourPasswordMissing: "Saisissez votre mot de passe.",
  currentPasswordMissing: "Saisissez votre mot de passe actuel.",
  phoneWrong: "Saisissez un numéro tel que +33 6 12 34 56 78.",
  codeShort: (length) => `Saisissez les ${length} chiffres du code.`,
  nameMissing: "Donnez-lui un nom.",
  required: (label) => `Le champ « ${label} » est obligatoire.`,
  consentMissing: "Veuillez accepter pour continuer.",
};

export const passwordHints: Texts["passwordHints"] = {
  length: (length) => `Au moins ${characters(length)}`,
  small: "Contient une minuscule",
  capital: "Contient une majuscule",
  letter: "Contient une lettre",
  digit: "Contient un chiffre",
  symbol: "Contient un symbole, tel que ! ou ?",
};
