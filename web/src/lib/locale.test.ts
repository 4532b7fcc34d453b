import { expect, test } from "vitest";

import { localeFor } from "./locale";

test("dates are written in the language of the pages, as its readers are used to", () => {
  expect(localeFor(["en-GB", "en"], "en")).toBe("en-GB");
  expect(localeFor(["de-AT", "en-AU"], "en")).toBe("en-AU");
  expect(localeFor(["de"], "en")).toBe("en");
  expect(localeFor([], "pt-BR")).toBe("pt-BR");
});
