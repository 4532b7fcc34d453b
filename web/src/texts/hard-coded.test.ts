// Every user-visible text must be in a catalogue. This finds hard-coded ones: between JSX tags, in visible
// attributes and properties, and any literal that reads like a sentence.

import { type ESTree, parseSync, Visitor } from "vite";
import { expect, test } from "vitest";

const sources = import.meta.glob<string>(
  // Sample data and the page of the kit exist in development only.
  [
    "../**/*.{ts,tsx}",
    "!../**/texts/**",
    "!../**/*.test.{ts,tsx}",
    "!../testing/**",
    "!../platform/{sample,kit}/**",
  ],
  { query: "?raw", import: "default", eager: true },
);

/** Attributes and properties whose values are displayed or read out. */
const visibleNames = new Set(
  `action alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext busyLabel button
  footer help hint label lead placeholder submitLabel title`.split(/\s+/),
);

/** Names and formats that are never translated. `X` stands for a template expression. */
const untranslated = new Set(["Samsung Internet", "Bearer X"]);

const isText = (text: string) => /\p{L}/u.test(text) && !untranslated.has(text);
const isCapitalised = (text: string) => /^\p{Lu}\p{Ll}/u.test(text);
const isSentence = (text: string) => /^\p{Lu}[\p{Ll}'’-]*(\s\S|[.,…!?](\s|$))/u.test(text);

/** The literal texts that an expression can evaluate to. */
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

function hardCodedTexts(file: string, source: string): string[] {
  const found = new Set<string>();
  const collect = (node: ESTree.Node | null, isHardCoded: (text: string) => boolean) => {
    for (const text of textsIn(node)) if (isText(text) && isHardCoded(text)) found.add(text);
  };
  const collectChildren = ({ children }: ESTree.JSXElement | ESTree.JSXFragment) => {
    for (const child of children) if (child.type === "JSXExpressionContainer") collect(child, isText);
  };
  const visitor = new Visitor({
    JSXText: ({ value }) => {
      if (isText(value)) found.add(value.trim());
    },
    JSXElement: collectChildren,
    JSXFragment: collectChildren,
    JSXAttribute: ({ name, value }) => {
      const isShown = name.type === "JSXIdentifier" && visibleNames.has(name.name);
      collect(value, isShown ? isText : isCapitalised);
    },
    Property: ({ key, value }) => {
      if (key.type === "Identifier" && visibleNames.has(key.name)) collect(value, isText);
    },
    AssignmentPattern: ({ left, right }) => {
      if (left.type === "Identifier" && visibleNames.has(left.name)) collect(right, isText);
    },
    Literal: (node) => collect(node, isSentence),
    TemplateLiteral: (node) => collect(node, isSentence),
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
])("in %s, %j are hard-coded texts", (source, texts) => {
  expect(hardCodedTexts("a.tsx", source)).toEqual(texts);
});

test("no texts are hard-coded outside the catalogue", () => {
  const found = Object.entries(sources).flatMap(([file, source]) =>
    hardCodedTexts(file, source).map((text) => `${file}: ${text}`),
  );

  expect(Object.keys(sources)).toContain("../visitor/app.tsx");
  expect(found).toEqual([]);
});
