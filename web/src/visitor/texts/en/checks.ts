import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("en");
const characters = (count: number) => `${count} ${plural(count, { one: "character", other: "characters" })}`;

/** Client-side validation errors. */
export const checks = {
  emailMissing: "Enter your e-mail address.",
  emailWrong: "Enter a valid e-mail address.",
  passwordMissing: "Enter a password.",
  passwordShort: (length: number) => `Use at least ${characters(length)}.`,
  passwordLong: "Use a shorter password.",
  yourPasswordMissing: "Enter your password.",
  currentPasswordMissing: "Enter your current password.",
  phoneWrong: "Enter a number such as +49 170 1234567.",
  codeShort: (length: number) => `Enter the ${length} digits of the code.`,
  nameMissing: "Give it a name.",
  required: (label: string) => `${label} is required.`,
  consentMissing: "Please agree to continue.",
};

/** Password requirements. */
export const passwordHints = {
  length: (length: number) => `At least ${characters(length)}`,
  small: "Contains a small letter",
  capital: "Contains a capital letter",
  letter: "Contains a letter",
  digit: "Contains a digit",
  symbol: "Contains a symbol, such as ! or ?",
};
