import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { type RenderText, rich } from "./rich";

test("a sentence keeps its order, its spaces and its nodes", () => {
  const bold: RenderText = (text) => createElement("b", null, text);

  const sentence = rich`${bold("Ann")} & ${2} others read ${bold("this")}.`;

  expect(renderToStaticMarkup(sentence)).toBe("<b>Ann</b> &amp; 2 others read <b>this</b>.");
});
