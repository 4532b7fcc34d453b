import { describe, expect, test } from "vitest";

import {
  checkCode,
  checkEmail,
  checkNewPassword,
  checkPhone,
  extractDigits,
  passwordHints,
} from "./validation";

describe("an e-mail address", () => {
  test.each(["a@b", " ann@mail.dev ", "o'hara+x@example.co.uk"])("%s is one", (text) => {
    expect(checkEmail(text)).toBeUndefined();
  });
  test.each(["", "ann", "@mail.dev", "ann@", "a@b@c", "a b@c.de", `${"a".repeat(250)}@mail.dev`])(
    "%s is none",
    (text) => {
      expect(checkEmail(text)).toBeTruthy();
    },
  );
});

describe("a new password", () => {
  test("has a minimum in characters and a maximum in bytes", () => {
    expect(checkNewPassword("", 6)).toBe("Enter a password.");
    expect(checkNewPassword("12345", 6)).toBe("Use at least 6 characters.");
    expect(checkNewPassword("123456", 6)).toBeUndefined();
    expect(checkNewPassword("🐎🐎🐎", 6)).toBe("Use at least 6 characters.");
    expect(checkNewPassword("a".repeat(72), 6)).toBeUndefined();
    expect(checkNewPassword("ä".repeat(37), 6)).toBe("Use a shorter password.");
  });

  test("marks the requirements that are met", () => {
    const sets = ["abcdefghijklmnopqrstuvwxyz", "ABC", "0123456789", "!?"];
    const met = passwordHints("aB1", 8, sets).map(({ text, isMet }) => [text, isMet]);
    expect(met).toEqual([
      ["At least 8 characters", false],
      ["Contains a small letter", true],
      ["Contains a capital letter", true],
      ["Contains a digit", true],
      ["Contains a symbol, such as ! or ?", false],
    ]);
  });
});

test("phone numbers are international", () => {
  expect(checkPhone("+49 (170) 123-45.67")).toBeUndefined();
  for (const text of ["", "0170 1234567", "+0170", "+49", `+${"1".repeat(16)}`, "+49x1234567"]) {
    expect([text, checkPhone(text)]).toEqual([text, "Enter a number such as +49 170 1234567."]);
  }
});

test("codes are the digits of a pasted text", () => {
  expect(extractDigits("Your code: 123 456.")).toBe("123456");
  expect(checkCode("123 456", 6)).toBeUndefined();
  expect(checkCode("12345", 6)).toBe("Enter the 6 digits of the code.");
});
