// What the list of projects shows: rows from two answers, searched, filtered and sorted.

import type { Sort } from "../../../components/table";
import { fuzzyMatch } from "../../../lib/fuzzy";
import type { Project, ProjectSummary } from "./api";

export type ProjectRow = Project & { summary: ProjectSummary | undefined; requests: number };

/** Branches are shown with their project, not in the list. */
export function joinRows(
  projects: readonly Project[],
  summaries: readonly ProjectSummary[] = [],
): ProjectRow[] {
  const byRef = new Map(summaries.map((summary) => [summary.ref, summary]));
  return projects
    .filter((project) => !project.parent_project_ref)
    .map((project) => {
      const summary = byRef.get(project.ref);
      const requests = summary?.requests_24h.reduce((sum, count) => sum + count, 0) ?? 0;
      return { ...project, summary, requests };
    });
}

export type Filter = { query: string; status: string };

export function filterRows(rows: readonly ProjectRow[], { query, status }: Filter): ProjectRow[] {
  const wanted = query.trim();
  return rows.filter(
    (row) =>
      (status === "" || row.status === status) &&
      (wanted === "" ||
        row.ref.startsWith(wanted) ||
        fuzzyMatch(wanted, row.name) !== null ||
        row.summary?.tags.some((tag) => tag.includes(wanted))),
  );
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

const values: Record<string, (row: ProjectRow) => number | string> = {
  name: (row) => row.name,
  requests: (row) => row.requests,
  size: (row) => row.summary?.database_bytes ?? -1,
  activity: (row) => row.summary?.last_activity ?? "",
  status: (row) => row.status,
};

/** Equal rows stay in the order of their names. */
export function sortRows(rows: readonly ProjectRow[], { column, direction }: Sort): ProjectRow[] {
  const value = values[column] ?? values["name"]!;
  const factor = direction === "ascending" ? 1 : -1;
  return rows.toSorted((a, b) => {
    const [left, right] = [value(a), value(b)];
    const order =
      typeof left === "number" && typeof right === "number"
        ? left - right
        : collator.compare(String(left), String(right));
    return order === 0 ? collator.compare(a.name, b.name) : order * factor;
  });
}

/** By organization, in the order of the rows. */
export function groupRows(rows: readonly ProjectRow[]): [organization: string, rows: ProjectRow[]][] {
  return [...groupBy(rows, (row) => row.organization_slug)];
}

/** Compares the second half of the day with the first. */
export function trend(counts: readonly number[]): "rising" | "falling" | "steady" {
  const half = Math.floor(counts.length / 2);
  const sum = (part: readonly number[]) => part.reduce((total, count) => total + count, 0);
  const [before, after] = [sum(counts.slice(0, half)), sum(counts.slice(half))];
  if (after > before * 1.15) return "rising";
  return after < before * 0.85 ? "falling" : "steady";
}

/** `Map.groupBy` is younger than the browsers we build for. */
function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}
