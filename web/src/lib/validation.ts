// What a form checks before it asks the server. Every check answers with a text, or nothing.

import * as texts from "../texts";

const tooLong = 255;
/** bcrypt reads no further. */
const maxPasswordBytes = 72;

/** Text on both sides of one `@`, no spaces (client contract 5.2). */
export function checkEmail(email: string): string | undefined {
  const text = email.trim();
  if (!text) return texts.checks.emailMissing;
  const isAddress = /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= tooLong;
  return isAddress ? undefined : texts.checks.emailWrong;
}

export function checkNewPassword(password: string, minLength: number): string | undefined {
  if (!password) return texts.checks.passwordMissing;
  if ([...password].length < minLength) return texts.checks.passwordShort(minLength);
  if (new TextEncoder().encode(password).length > maxPasswordBytes) return texts.checks.passwordLong;
  return undefined;
}

/** E.164: a plus sign and up to fifteen digits. Spaces, dots and brackets are how people write them. */
export function checkPhone(phone: string): string | undefined {
  return /^\+[1-9]\d{6,14}$/.test(plainPhone(phone)) ? undefined : texts.checks.phoneWrong;
}

export const plainPhone = (phone: string) => phone.replace(/[\s().-]/g, "");

/** What is left of a pasted code. */
export const digitsOf = (text: string) => text.replace(/\D/g, "");

export function checkCode(code: string, length: number): string | undefined {
  return digitsOf(code).length >= length ? undefined : texts.checks.codeShort(length);
}

export type Hint = { text: string; isMet: boolean };

const setHints: [RegExp, string][] = [
  [/^[a-z]+$/, texts.passwordHints.small],
  [/^[A-Z]+$/, texts.passwordHints.capital],
  [/^[A-Za-z]+$/, texts.passwordHints.letter],
  [/^\d+$/, texts.passwordHints.digit],
];

/** What a password must have, and whether it has it already. `sets` are the server's. */
export function passwordHints(password: string, minLength: number, sets: readonly string[]): Hint[] {
  const length = { text: texts.passwordHints.length(minLength), isMet: [...password].length >= minLength };
  const characters = sets.map((set) => ({
    text: setHints.find(([form]) => form.test(set))?.[1] ?? texts.passwordHints.symbol,
    isMet: [...password].some((char) => set.includes(char)),
  }));
  return [length, ...characters];
}
