import { expect, test } from "vitest";

import { utcTime } from "./dates";
import { formatBytes, formatCompact, formatMs } from "./format";

test.each([
  [0, "0 B"],
  [1023, "1,023 B"],
  [1024, "1 KiB"],
  [1_395_864_371, "1.3 GiB"],
  [-1, "–"],
  [Number.NaN, "–"],
])("%d bytes are %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test("small numbers are shown as they are, large ones short", () => {
  expect(formatCompact(9999)).toBe("9,999");
  expect(formatCompact(14_590)).toBe("14.6K");
});

test("times and durations", () => {
  expect(formatMs(38.42)).toBe("38.4 ms");
  expect(formatMs(2140)).toBe("2.1 s");
  expect(utcTime("2026-11-19T20:04:31.123Z")).toBe("2026-11-19 20:04:31 UTC");
});
