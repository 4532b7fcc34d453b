import { describe, expect, test } from "vitest";

import { belowMount, checkedNext, keepNext } from "./next";

const origin = "https://app.test";

describe("checkedNext", () => {
  test.each(["/", "/account", "/a/b?c=d#e", "/p/abc/account?x=//y", `/${"a".repeat(2047)}`])(
    "takes %s",
    (next) => {
      expect(checkedNext(next, origin)).toBe(next);
    },
  );

  test.each([
    null,
    "",
    "account",
    "//evil.test",
    "///evil.test",
    "/\\evil.test",
    "\\/evil.test",
    "/a\\b",
    "https://evil.test",
    "https://app.test/account",
    "javascript:alert(1)",
    "/a\nb",
    "/\t/evil.test",
    "/a\u0000",
    "/a\u007f",
    "/a\u0080",
    "/a\u009f",
    `/${"a".repeat(2048)}`,
  ])("refuses %j", (next) => {
    expect(checkedNext(next, origin)).toBeNull();
  });
});

test("next is kept from page to page", () => {
  expect(keepNext("/sign-up", "next=%2Fapp%3Fa%3Db")).toBe("/sign-up?next=%2Fapp%3Fa%3Db");
  expect(keepNext("/sign-in?reason=expired", "?next=/x")).toBe("/sign-in?reason=expired&next=%2Fx");
  expect(keepNext("/sign-up", "reason=expired")).toBe("/sign-up");
});

test("our own pages are told from the application's", () => {
  expect(belowMount("/p/x/account", "/p/x")).toBe("/account");
  expect(belowMount("/p/x", "/p/x")).toBe("/");
  expect(belowMount("/p/xy/account", "/p/x")).toBeNull();
  expect(belowMount("/app", "")).toBe("/app");
});
