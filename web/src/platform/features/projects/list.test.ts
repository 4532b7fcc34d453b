import { expect, test } from "vitest";

import { projects, summaries } from "../../sample/data";
import type { Project, ProjectSummary } from "./api";
import { filterRows, groupRows, joinRows, sortRows, trend } from "./list";

const project = (name: string, changes: Partial<Project> = {}): Project => ({
  ref: name.toLowerCase().replaceAll(/\W/g, ""),
  name,
  organization_slug: "acme",
  region: "",
  created_at: "2026-01-01T00:00:00Z",
  status: "ACTIVE_HEALTHY",
  parent_project_ref: null,
  isolated: false,
  database: null,
  ...changes,
});
const summary = (ref: string, changes: Partial<ProjectSummary>): ProjectSummary => ({
  ref,
  branches: 0,
  database_bytes: null,
  requests_24h: [],
  last_activity: null,
  members: null,
  tags: [],
  ...changes,
});
const names = (rows: { name: string }[]) => rows.map(({ name }) => name);

test("branches stay with their project, and figures may be missing", () => {
  const rows = joinRows([project("shop"), project("shop: x", { parent_project_ref: "shop" })], undefined);

  expect(names(rows)).toEqual(["shop"]);
  expect(rows[0]).toMatchObject({ requests: 0, summary: undefined });
});

test.each([
  ["name", "ascending", ["a2", "a10", "B"]],
  ["name", "descending", ["B", "a10", "a2"]],
  // Equal ones by name, in both directions.
  ["requests", "ascending", ["a10", "B", "a2"]],
  ["requests", "descending", ["a2", "a10", "B"]],
  ["size", "descending", ["B", "a2", "a10"]],
  ["nonsense", "ascending", ["a2", "a10", "B"]],
] as const)("by %s, %s: %j", (column, direction, expected) => {
  const rows = joinRows(
    [project("B"), project("a10"), project("a2")],
    [summary("a2", { requests_24h: [4, 5], database_bytes: 0 }), summary("b", { database_bytes: 9 })],
  );

  expect(names(sortRows(rows, { column, direction }))).toEqual(expected);
});

test("rows are found by name, start of the ref, tag and status", () => {
  const rows = joinRows(
    [project("shop"), project("warehouse", { status: "INACTIVE" }), project("news")],
    [summary("news", { tags: ["archive"] })],
  );
  const found = (query: string, status = "") => names(filterRows(rows, { query, status }));

  expect(found("wrhs")).toEqual(["warehouse"]);
  expect(found("arch")).toEqual(["news"]);
  expect(found("", "INACTIVE")).toEqual(["warehouse"]);
  expect(found("shop", "INACTIVE")).toEqual([]);
});

test("groups keep the order of their rows", () => {
  const rows = joinRows([
    project("b", { organization_slug: "lab" }),
    project("a"),
    project("c", { organization_slug: "lab" }),
  ]);

  expect(groupRows(rows).map(([group, part]) => [group, names(part)])).toEqual([
    ["lab", ["b", "c"]],
    ["acme", ["a"]],
  ]);
});

test.each([
  [[1, 1, 2, 2], "rising"],
  [[2, 2, 1, 1], "falling"],
  [[2, 2, 2, 2], "steady"],
  [[], "steady"],
])("%j is %s", (counts, expected) => expect(trend(counts)).toBe(expected));

test("the sample data have the shape of the server's", () => {
  expect(
    joinRows(
      projects.map((one) => project(one.name, one)),
      summaries as ProjectSummary[],
    ),
  ).toHaveLength(12);
});
