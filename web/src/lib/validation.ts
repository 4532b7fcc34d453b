// What a form checks before it asks the server. Every check answers with a text, or nothing.

const tooLong = 255;
/** bcrypt reads no further. */
const maxPasswordBytes = 72;

/** Text on both sides of one `@`, no spaces (client contract 5.2). */
export function checkEmail(email: string): string | undefined {
  const text = email.trim();
  if (!text) return "Enter your e-mail address.";
  const isAddress = /^[^\s@]+@[^\s@]+$/.test(text) && text.length <= tooLong;
  return isAddress ? undefined : "Enter a valid e-mail address.";
}

export function checkNewPassword(password: string, minLength: number): string | undefined {
  if (!password) return "Enter a password.";
  if ([...password].length < minLength) return `Use at least ${minLength} characters.`;
  if (new TextEncoder().encode(password).length > maxPasswordBytes) return "Use a shorter password.";
  return undefined;
}

/** E.164: a plus sign and up to fifteen digits. Spaces, dots and brackets are how people write them. */
export function checkPhone(phone: string): string | undefined {
  return /^\+[1-9]\d{6,14}$/.test(plainPhone(phone)) ? undefined : "Enter a number such as +49 170 1234567.";
}

export const plainPhone = (phone: string) => phone.replace(/[\s().-]/g, "");

/** What is left of a pasted code. */
export const digitsOf = (text: string) => text.replace(/\D/g, "");

export function checkCode(code: string, length: number): string | undefined {
  return digitsOf(code).length >= length ? undefined : `Enter the ${length} digits of the code.`;
}

export type Hint = { text: string; isMet: boolean };

const setNames: [RegExp, string][] = [
  [/^[a-z]+$/, "a small letter"],
  [/^[A-Z]+$/, "a capital letter"],
  [/^[A-Za-z]+$/, "a letter"],
  [/^\d+$/, "a digit"],
];

/** What a password must have, and whether it has it already. `sets` are the server's. */
export function passwordHints(password: string, minLength: number, sets: readonly string[]): Hint[] {
  const length = { text: `At least ${minLength} characters`, isMet: [...password].length >= minLength };
  const characters = sets.map((set) => ({
    text: `Contains ${setNames.find(([form]) => form.test(set))?.[1] ?? "a symbol, such as ! or ?"}`,
    isMet: [...password].some((char) => set.includes(char)),
  }));
  return [length, ...characters];
}
