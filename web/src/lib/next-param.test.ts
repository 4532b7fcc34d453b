import { describe, expect, test } from "vitest";

import { getNext, hasForeignNext, stripMount, validateNext, withNext } from "./next-param";

const origin = "https://app.test";

describe("validateNext", () => {
  test.each(["/", "/account", "/a/b?c=d#e", "/p/abc/account?x=//y", `/${"a".repeat(2047)}`])(
    "accepts %s",
    (next) => {
      expect(validateNext(next, origin)).toBe(next);
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
    "https:evil.test",
    "https:/evil.test",
    "https:///evil.test",
    "https://app.test@evil.test/",
    "https://app.test:8443/",
    "http://app.test/",
    "https://app.test//evil.test",
    "blob:https://app.test/x",
    "javascript:alert(1)",
    "javascript://app.test/%0aalert(1)",
    "data:text/html,x",
    "%2F%2Fevil.test",
    "https%3A%2F%2Fevil.test",
    " //evil.test",
    "/a\nb",
    "/\t/evil.test",
    "/a\u0000",
    "/a\u007f",
    "/a\u0080",
    "/a\u009f",
    `/${"a".repeat(2048)}`,
  ])("rejects %j", (next) => {
    expect(validateNext(next, origin)).toBeNull();
  });
});

describe("next at another origin", () => {
  const next = { asked: "https://shop.test", url: "https://shop.test/" };
  const scope = { cookiePath: "/", otherProjects: ["/p"], next };

  test("is where the server said", () => {
    expect(validateNext("https://shop.test", origin, scope)).toBe("https://shop.test/");
  });

  test.each(["https://shop.test/other", "https://evil.test", "//shop.test", "https:shop.test"])(
    "is not %s, which the server did not see",
    (asked) => {
      expect(validateNext(asked, origin, scope)).toBeNull();
    },
  );

  test("is no script, wherever it comes from", () => {
    const script = { asked: "javascript:alert(1)", url: "javascript:alert(1)" };
    expect(validateNext(script.asked, origin, { ...scope, next: script })).toBeNull();
  });

  test("a URL of this origin is a path of it, and stays in its project", () => {
    expect(validateNext("https://app.test/a?b#c", origin, scope)).toBe("/a?b#c");
    expect(validateNext("https://user@app.test/a", origin, scope)).toBe("/a");
    const other = { asked: "https://app.test/p/other", url: "https://app.test/p/other" };
    expect(validateNext(other.asked, origin, { ...scope, next: other })).toBeNull();
  });
});

describe("next stays in its project", () => {
  const defaultProject = { cookiePath: "/", otherProjects: ["/p", "/console"], next: null };
  const shop = { cookiePath: "/p/shop", otherProjects: [], next: null };

  test.each(["/", "/app", "/products", "/functions/v1/x", "/x?next=/p/a"])(
    "the default project's %s",
    (next) => {
      expect(validateNext(next, origin, defaultProject)).toBe(next);
    },
  );

  test.each([
    "/p/shop/functions/v1/x",
    "/p",
    "/console/account",
    "/x/../p/shop",
    "/%2e/p/shop",
    "/./console",
    "/%70/shop",
    "/x/..//p/shop",
    "/x%2F..%2Fp%2Fshop",
    "/x%2f%2e%2e%2fconsole",
    "/x%5C..%5Cp",
    "/x%252F%252e%252e%252Fp",
    "/x/..;a=b/p/shop",
    "/%",
  ])("not the default project's %s", (next) => {
    expect(validateNext(next, origin, defaultProject)).toBeNull();
  });

  test("a project below a path leads nowhere else", () => {
    expect(validateNext("/p/shop/account", origin, shop)).toBe("/p/shop/account");
    for (const next of [
      "/",
      "/app",
      "/p/shops",
      "/p/other/x",
      "/p/shop/../other",
      "/p/shop/x%2F..%2F..%2Fother",
      "/p/shop/..;/other",
      "/functions/v1/x",
    ]) {
      expect(validateNext(next, origin, shop)).toBeNull();
    }
  });
});

test("next is passed from page to page", () => {
  expect(withNext("/sign-up", "next=%2Fapp%3Fa%3Db")).toBe("/sign-up?next=%2Fapp%3Fa%3Db");
  expect(withNext("/sign-in?reason=expired", "?next=/x")).toBe("/sign-in?reason=expired&next=%2Fx");
  expect(withNext("/sign-up", "reason=expired")).toBe("/sign-up");
  expect(withNext("/sign-up", "redirect_to=/x")).toBe("/sign-up?next=%2Fx");
  expect(getNext("redirect_to=/x&next=/y")).toBe("/y");
  expect(getNext("next=&redirect_to=/x")).toBe("/x");
});

test("only the server can check where a page with a foreign next leads", () => {
  expect(hasForeignNext("/account?next=https%3A%2F%2Fshop.test")).toBe(true);
  expect(hasForeignNext("/account?a=b&redirect_to=https://shop.test?c#d")).toBe(true);
  expect(hasForeignNext("/account?next=/shop#?next=https://x")).toBe(false);
  expect(hasForeignNext("/account")).toBe(false);
});

test("account pages are distinguished from the application's", () => {
  expect(stripMount("/p/x/account", "/p/x")).toBe("/account");
  expect(stripMount("/p/x", "/p/x")).toBe("/");
  expect(stripMount("/p/xy/account", "/p/x")).toBeNull();
  expect(stripMount("/app", "")).toBe("/app");
  expect(stripMount("https://app.test/account", "")).toBeNull();
});
