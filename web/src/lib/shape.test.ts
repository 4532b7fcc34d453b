import { expect, expectTypeOf, test } from "vitest";

import {
  array,
  boolean,
  type Infer,
  matching,
  maybe,
  number,
  object,
  oneOf,
  otherwise,
  record,
  string,
  withDefault,
} from "./shape";

const Row = object({ id: number, name: maybe(string), tags: withDefault(array(string), []) });

test("what was asked for is read, and nothing else", () => {
  expect(array(Row)([{ id: 1, name: "a", tags: ["x"], newer: true }, { id: 2 }])).toEqual([
    { id: 1, name: "a", tags: ["x"] },
    { id: 2, name: null, tags: [] },
  ]);
  expectTypeOf<Infer<typeof Row>>().toEqualTypeOf<{ id: number; name: string | null; tags: string[] }>();
});

test.each([
  [[{ id: 1 }, { id: "2" }], "[1].id: expected a number, got string"],
  [[{}], "[0].id: expected a number, got missing"],
  [[{ id: 1, tags: ["a", null] }], "[0].tags[1]: expected a text, got null"],
  [{}, "answer: expected a list, got object"],
  [[[]], "[0]: expected an object, got a list"],
])("%j is refused: %s", (value, message) => {
  expect(() => array(Row)(value)).toThrow(message);
});

test("texts can be limited, and wrong ones replaced", () => {
  expect(oneOf("light", "dark")("dark")).toBe("dark");
  expect(() => oneOf("light", "dark")("pink", "theme")).toThrow("theme: expected light or dark, got string");
  expect(otherwise(oneOf("light", "dark"), "light")("pink")).toBe("light");
  expect(() => matching(/^\//)("a", "path")).toThrow("path: expected /^\\//");
  expect(record(boolean)({ a: true })).toEqual({ a: true });
  expect(() => record(boolean)({ a: 1 }, "done")).toThrow("done.a: expected true or false, got number");
});

test("inherited members are missing", () => {
  expect(object({ toString: maybe(string) })({})).toEqual({ toString: null });
});
