import { expect, test } from "vitest";

import { localeFor } from "./locale";

test("the locale is the user's variant of the UI language", () => {
  expect(localeFor(["en-GB", "en"], "en")).toBe("en-GB");
  expect(localeFor(["de-AT", "en-AU"], "en")).toBe("en-AU");
  expect(localeFor(["de"], "en")).toBe("en");
  expect(localeFor([], "pt-BR")).toBe("pt-BR");
});
