import { expect, test } from "vitest";

import { fuzzyMatch } from "./fuzzy";

/** The texts that match, the best first. */
const rank = (query: string, texts: string[]) =>
  texts
    .map((text) => ({ text, score: fuzzyMatch(query, text)?.score ?? -Infinity }))
    .filter(({ score }) => score > -Infinity)
    .toSorted((a, b) => b.score - a.score)
    .map(({ text }) => text);

test.each([
  ["ord", ["word_list", "orders", "o_r_d"], ["orders", "word_list", "o_r_d"]],
  ["oi", ["folio", "order_items", "customers"], ["order_items", "folio"]],
  ["SQL", ["sql editor", "tables"], ["sql editor"]],
  ["ab", ["xa by a"], ["xa by a"]],
  ["zz", ["orders"], []],
  ["", ["a", "b"], ["a", "b"]],
])("%j ranks %j as %j", (query, texts, ranked) => {
  expect(rank(query, texts)).toEqual(ranked);
});

test("the positions are those of the letters", () => {
  expect(fuzzyMatch("oi", "order_items")?.positions).toEqual([0, 6]);
  expect(fuzzyMatch("items", "order_items")?.positions).toEqual([6, 7, 8, 9, 10]);
});
