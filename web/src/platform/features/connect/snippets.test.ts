import { expect, test } from "vitest";

import { waysToConnect } from "./snippets";

const values = {
  url: "https://plinth.example/p/abcdefghijklmnopqrst",
  key: "sb_publishable_x",
  ref: "abcdefghijklmnopqrst",
  databaseHost: "",
};
const codeOf = (id: string, changes: Partial<typeof values> = {}) =>
  waysToConnect({ ...values, ...changes })
    .find((way) => way.id === id)!
    .snippets.map(({ code }) => code)
    .join("\n");

test("below a path of a shared host, the session has a key of its own", () => {
  expect(codeOf("js")).toContain(`createClient(
  "https://plinth.example/p/abcdefghijklmnopqrst",
  "sb_publishable_x",
  { auth: { storageKey: "sb-abcdefghijklmnopqrst-auth-token" } },
);`);
});

test("on a host of its own, the default is right", () => {
  expect(codeOf("js", { url: "https://abc.plinth.example" })).toContain(`createClient(
  "https://abc.plinth.example",
  "sb_publishable_x",
);`);
});

test("the database is reached by the project's user", () => {
  expect(codeOf("psql")).toBe(
    "psql 'postgresql://postgres.abcdefghijklmnopqrst:[YOUR-PASSWORD]@plinth.example:54322/postgres'",
  );
  expect(codeOf("prisma", { databaseHost: "db.abc.plinth.example" })).toContain(
    "@db.abc.plinth.example:5432/postgres",
  );
});

test("every way that the issue names is there", () => {
  expect(waysToConnect(values).map(({ id }) => id)).toEqual([
    "js",
    "next",
    "rust",
    "python",
    "curl",
    "psql",
    "prisma",
    "drizzle",
  ]);
});
