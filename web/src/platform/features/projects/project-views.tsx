// The list as a table or as cards. Several hundred projects scroll smoothly, because only those in view are in
// the document (N30).

import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { ArrowDown, ArrowUp, GitBranch, Users } from "lucide-react";

import { Badge } from "../../../components/badge";
import { Sparkline } from "../../../components/chart";
import { Name } from "../../../components/data-states";
import type { Sort } from "../../../components/table";
import { Time } from "../../../components/time";
import { VirtualList } from "../../../components/virtual-list";
import { formatBytes, formatCompact, formatNumber } from "../../../lib/format";
import { texts } from "../../texts";
import { type ProjectRow, trend } from "./list";
import { ProjectStatus } from "./status";

const t = texts.projects;

const gridClass =
  "grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-5 px-4 md:grid-cols-[minmax(12rem,1fr)_7rem_8rem_9rem_7rem] xl:grid-cols-[minmax(14rem,1fr)_7.5rem_6.5rem_8.5rem_12rem_6rem_8rem]";

const columns = [
  { id: "name", title: t.name, className: "" },
  { id: "status", title: t.status, className: "" },
  { id: "", title: t.region, className: "max-xl:hidden" },
  { id: "", title: t.branches, className: "max-md:hidden" },
  { id: "requests", title: t.requests, className: "max-md:hidden" },
  { id: "size", title: t.size, className: "max-xl:hidden text-end" },
  { id: "activity", title: t.activity, className: "max-md:hidden text-end" },
];

type ViewProps = { rows: readonly ProjectRow[]; sort: Sort; onSort: (sort: Sort) => void };

export function ProjectTable({ rows, sort, onSort }: ViewProps) {
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-surface">
      <div
        className={clsx(gridClass, "h-9 border-b border-line text-dense font-medium text-soft max-md:hidden")}
      >
        {columns.map(({ id, title, className }) => (
          <span key={title} className={className}>
            {id ? <SortButton id={id} title={title} sort={sort} onSort={onSort} /> : title}
          </span>
        ))}
      </div>
      <VirtualList
        label={t.title}
        items={rows}
        itemKey={(row) => row.ref}
        estimate={57}
        className="thin-scroll max-h-[max(20rem,calc(100dvh-14rem))]"
      >
        {(row) => <TableRow row={row} />}
      </VirtualList>
    </div>
  );
}

function SortButton({ id, title, sort, onSort }: { id: string; title: string } & Omit<ViewProps, "rows">) {
  const isSorted = sort.column === id;
  const Arrow = sort.direction === "ascending" ? ArrowUp : ArrowDown;
  return (
    <button
      type="button"
      aria-pressed={isSorted}
      onClick={() =>
        onSort({
          column: id,
          direction: isSorted && sort.direction === "ascending" ? "descending" : "ascending",
        })
      }
      className={clsx(
        "inline-flex min-h-6 items-center gap-1 rounded-md font-medium hover:text-text",
        isSorted && "text-text",
      )}
    >
      {title}
      {isSorted && <Arrow aria-hidden className="size-3.5" />}
    </button>
  );
}

function TableRow({ row }: { row: ProjectRow }) {
  const { summary } = row;
  return (
    <div
      className={clsx(
        gridClass,
        "relative min-h-14 border-b border-line-soft py-2 text-dense hover:bg-hover has-focus-visible:bg-hover",
      )}
    >
      <div className="min-w-0">
        <Link
          to="/project/$ref"
          params={{ ref: row.ref }}
          className="block truncate text-sm font-medium outline-none after:absolute after:inset-0 focus-visible:after:outline-2 focus-visible:after:-outline-offset-2"
        >
          <Name>{row.name}</Name>
        </Link>
        <div className="flex items-center gap-2 text-xs text-soft">
          <span className="truncate font-mono">{row.ref}</span>
          {summary?.tags.map((tag) => (
            <Badge key={tag}>{tag}</Badge>
          ))}
        </div>
      </div>
      <ProjectStatus status={row.status} />
      <span className="truncate text-soft max-xl:hidden">{row.region || t.unknown}</span>
      <BranchesAndMembers row={row} />
      <Requests row={row} />
      <span className="text-end tabular-nums max-xl:hidden">
        {summary?.database_bytes == null ? t.unknown : formatBytes(summary.database_bytes)}
      </span>
      <span className="text-end text-soft max-md:hidden">
        {summary?.last_activity ? <Time at={summary.last_activity} /> : t.never}
      </span>
    </div>
  );
}

function BranchesAndMembers({ row: { summary } }: { row: ProjectRow }) {
  return (
    <span className="flex items-center gap-3 text-soft max-md:hidden">
      {!!summary?.branches && (
        <span className="inline-flex items-center gap-1 tabular-nums" title={t.branchCount(summary.branches)}>
          <GitBranch aria-hidden className="size-3.5" />
          <span aria-hidden>{summary.branches}</span>
          <span className="sr-only">{t.branchCount(summary.branches)}</span>
        </span>
      )}
      {!!summary?.members && (
        <span className="inline-flex items-center gap-1 tabular-nums" title={t.memberCount(summary.members)}>
          <Users aria-hidden className="size-3.5" />
          <span aria-hidden>{summary.members}</span>
          <span className="sr-only">{t.memberCount(summary.members)}</span>
        </span>
      )}
    </span>
  );
}

function Requests({ row, className = "max-md:hidden" }: { row: ProjectRow; className?: string }) {
  const counts = row.summary?.requests_24h ?? [];
  const text = row.requests > 0 ? t.requestsText(formatNumber(row.requests), trend(counts)) : t.noRequests;
  return (
    <span className={clsx("flex items-center gap-2", className)}>
      <Sparkline points={row.requests > 0 ? counts : []} label={text} className="min-w-0 flex-1" />
      <span aria-hidden className="w-12 shrink-0 text-end text-soft tabular-nums">
        {formatCompact(row.requests)}
      </span>
    </span>
  );
}

export function ProjectCards({ rows }: { rows: readonly ProjectRow[] }) {
  return (
    <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(20rem,100%),1fr))] gap-3">
      {rows.map((row) => (
        <li
          key={row.ref}
          className="relative grid grid-cols-[minmax(0,1fr)] content-between gap-4 rounded-lg border border-line bg-surface p-4 transition-colors duration-(--ease) [contain-intrinsic-size:auto_9rem] [content-visibility:auto] hover:border-line-strong/70"
        >
          <div className="grid gap-0.5">
            <div className="flex items-start justify-between gap-3">
              <Link
                to="/project/$ref"
                params={{ ref: row.ref }}
                className="min-w-0 truncate text-sm font-medium after:absolute after:inset-0 after:rounded-lg"
              >
                <Name>{row.name}</Name>
              </Link>
              <span className="shrink-0 text-xs">
                <ProjectStatus status={row.status} />
              </span>
            </div>
            <p className="truncate text-xs text-soft">
              {[row.region, row.summary?.database_bytes != null && formatBytes(row.summary.database_bytes)]
                .filter(Boolean)
                .join(" · ") || row.ref}
            </p>
          </div>
          <div className="grid gap-2">
            <Requests row={row} className="text-xs" />
            <div className="flex items-center justify-between text-xs text-soft">
              <BranchesAndMembers row={row} />
              {row.summary?.last_activity ? <Time at={row.summary.last_activity} /> : t.never}
            </div>
          </div>
        </li>
      ))}
    </ul>
  );
}
