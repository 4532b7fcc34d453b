// Every word that people read stands in the catalogue. Words that stand elsewhere are found here: between
// tags, in attributes and properties that are shown, and wherever a text reads like a sentence.

import { type ESTree, parseSync, Visitor } from "vite";
import { expect, expectTypeOf, test } from "vitest";

import type { Texts } from ".";

const sources = import.meta.glob<string>(["../**/*.{ts,tsx}", "!../texts/**", "!../**/*.test.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});

/** What attributes and properties with these names hold is shown or read out. */
const shown = new Set(
  `action alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext busyLabel button
  foot help hint label lead placeholder submitLabel title`.split(/\s+/),
);

/** Names and formats that no language changes. `X` stands for what a template inserts. */
const notWords = new Set(["Samsung Internet", "Bearer X"]);

const isText = (text: string) => /\p{L}/u.test(text) && !notWords.has(text);
const isCapitalised = (text: string) => /^\p{Lu}\p{Ll}/u.test(text);
const isSentence = (text: string) => /^\p{Lu}[\p{Ll}'’-]*(\s\S|[.,…!?](\s|$))/u.test(text);

/** The texts that an expression can become. */
function textsIn(node: ESTree.Node | null): string[] {
  switch (node?.type) {
    case "Literal":
      return typeof node.value === "string" ? [node.value] : [];
    case "TemplateLiteral": {
      const parts = node.quasis.map(({ value }) => value.cooked ?? "");
      return parts.some(isText) ? [parts.join("X")] : [];
    }
    case "ConditionalExpression":
      return [...textsIn(node.consequent), ...textsIn(node.alternate)];
    case "LogicalExpression":
      return [...textsIn(node.left), ...textsIn(node.right)];
    case "BinaryExpression":
      return node.operator === "+" ? [...textsIn(node.left), ...textsIn(node.right)] : [];
    case "JSXExpressionContainer":
    case "ParenthesizedExpression":
      return textsIn(node.expression);
    default:
      return [];
  }
}

function wordsIn(file: string, source: string): string[] {
  const found = new Set<string>();
  const note = (node: ESTree.Node | null, isWrong: (text: string) => boolean) => {
    for (const text of textsIn(node)) if (isText(text) && isWrong(text)) found.add(text);
  };
  const noteChildren = ({ children }: ESTree.JSXElement | ESTree.JSXFragment) => {
    for (const child of children) if (child.type === "JSXExpressionContainer") note(child, isText);
  };
  const visitor = new Visitor({
    JSXText: ({ value }) => {
      if (isText(value)) found.add(value.trim());
    },
    JSXElement: noteChildren,
    JSXFragment: noteChildren,
    JSXAttribute: ({ name, value }) => {
      const isShown = name.type === "JSXIdentifier" && shown.has(name.name);
      note(value, isShown ? isText : isCapitalised);
    },
    Property: ({ key, value }) => {
      if (key.type === "Identifier" && shown.has(key.name)) note(value, isText);
    },
    AssignmentPattern: ({ left, right }) => {
      if (left.type === "Identifier" && shown.has(left.name)) note(right, isText);
    },
    Literal: (node) => note(node, isSentence),
    TemplateLiteral: (node) => note(node, isSentence),
  });
  visitor.visit(parseSync(file, source).program);
  return [...found];
}

test.each([
  ["<p>Hello</p>", ["Hello"]],
  ['<p>{isNew ? "hello" : `bye ${name}`}</p>', ["hello", "bye X"]],
  ['<p>{kind === "phone" && (name || "nobody")}</p>', ["nobody"]],
  ['<input aria-label="name" name="name" className="grid gap-2" />', ["name"]],
  ['<Row name="Phone" />', ["Phone"]],
  ["<img alt={`picture of ${name}`} />", ["picture of X"]],
  ['const page = { path: "/a", label: "profile" };', ["profile"]],
  ['const Field = ({ label = "code" }) => null;', ["code"]],
  ['toast("Saved.");', ["Saved."]],
  ["toast(`${name} is removed.`);", ["X is removed."]],
  ["<p title={texts.a.b}>{texts.a.c(name)} · +{code}</p>", []],
  ["fetch(`/user/${id}`, { headers: { authorization: `Bearer ${token}` } });", []],
])("in %s, %j are words", (source, words) => {
  expect(wordsIn("a.tsx", source)).toEqual(words);
});

test("no words stand outside the catalogue", () => {
  const found = Object.entries(sources).flatMap(([file, source]) =>
    wordsIn(file, source).map((words) => `${file}: ${words}`),
  );

  expect(Object.keys(sources)).toContain("../account/app.tsx");
  expect(found).toEqual([]);
});

test("a language that leaves something out does not compile", () => {
  expectTypeOf<{ justNow: "gerade eben" }>().toExtend<Texts["dates"]>();
  expectTypeOf<{ signedOut: string }>().not.toExtend<Texts["farewell"]>();
});
