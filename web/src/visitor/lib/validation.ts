// Client-side validation. A check returns an error text, or `undefined`.

import { texts } from "../texts";

const maxEmailLength = 255;
/** bcrypt ignores the rest. */
const maxPasswordBytes = 72;

/** Text around exactly one `@`, no spaces (client contract 5.2). */
export function checkEmail(email: string): string | undefined {
  const text = email.trim();
  if (!text) return texts.checks.emailMissing;
  const isAddress = /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= maxEmailLength;
  return isAddress ? undefined : texts.checks.emailWrong;
}

export function checkNewPassword(password: string, minLength: number): string | undefined {
  if (!password) return texts.checks.passwordMissing;
  if ([...password].length < minLength) return texts.checks.passwordShort(minLength);
  if (new TextEncoder().encode(password).length > maxPasswordBytes) return texts.checks.passwordLong;
  return undefined;
}

/** E.164: a plus sign and up to 15 digits. Spaces, dots, hyphens and parentheses are ignored. */
export function checkPhone(phone: string): string | undefined {
  return /^\+[1-9]\d{6,14}$/.test(normalizePhone(phone)) ? undefined : texts.checks.phoneWrong;
}

export const normalizePhone = (phone: string) => phone.replace(/[\s().-]/g, "");

export const extractDigits = (text: string) => text.replace(/\D/g, "");

export function checkCode(code: string, length: number): string | undefined {
  return extractDigits(code).length >= length ? undefined : texts.checks.codeShort(length);
}

export type Hint = { text: string; isMet: boolean };

const setHints: [RegExp, string][] = [
  [/^[a-z]+$/, texts.passwordHints.small],
  [/^[A-Z]+$/, texts.passwordHints.capital],
  [/^[A-Za-z]+$/, texts.passwordHints.letter],
  [/^\d+$/, texts.passwordHints.digit],
];

/** Password requirements, and whether each is met. `sets` are the server's required character sets. */
export function passwordHints(password: string, minLength: number, sets: readonly string[]): Hint[] {
  const length = { text: texts.passwordHints.length(minLength), isMet: [...password].length >= minLength };
  const characters = sets.map((set) => ({
    text: setHints.find(([pattern]) => pattern.test(set))?.[1] ?? texts.passwordHints.symbol,
    isMet: [...password].some((char) => set.includes(char)),
  }));
  return [length, ...characters];
}
