// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { forgetSetupToken, takeSetupToken } from "./setup-token";

const at = (url: string) => {
  window.history.replaceState(null, "", url);
  return takeSetupToken(window);
};
const shown = () => location.pathname + location.search + location.hash;

test("the token leaves the address and survives a reload", () => {
  expect(at("/console/setup#token=abc")).toBe("abc");
  expect(shown()).toBe("/console/setup");
  expect(at("/console/setup")).toBe("abc");

  forgetSetupToken(window);
  expect(at("/console/setup")).toBeNull();
});

test("it may stand in the query, where other parameters stay", () => {
  expect(at("/console/setup?a=1&token=xyz")).toBe("xyz");
  expect(shown()).toBe("/console/setup?a=1");
  forgetSetupToken(window);
});
