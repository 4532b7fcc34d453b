// The projects list (N30). Search, filter and sort live in the address (N17).

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { LayoutGrid, List, Plus, SearchX, Sprout } from "lucide-react";
import { useDeferredValue, useMemo, useRef } from "react";

import { Button, buttonClass } from "../../components/button";
import { Empty, Region, RowsSkeleton, StaleBadge } from "../../components/data-states";
import { IconButton } from "../../components/icon-button";
import { SearchField } from "../../components/search-field";
import { SelectField } from "../../components/select";
import type { Sort } from "../../components/table";
import { projectsQuery, summariesQuery } from "../features/projects/api";
import { filterRows, groupRows, joinRows, type ProjectRow, sortRows } from "../features/projects/list";
import { ProjectCards, ProjectTable } from "../features/projects/project-views";
import { statusText } from "../features/projects/status";
import { setPreferences, usePreferences } from "../lib/preferences";
import { useShortcuts } from "../lib/shortcuts";
import { Screen } from "../shell/screen";
import { texts } from "../texts";

const t = texts.projects;

export type ProjectsSearch = { q?: string; status?: string; sort?: string; desc?: boolean; group?: boolean };

const groupFrom = 2;

export default function Projects() {
  const projects = useQuery(projectsQuery);
  const summaries = useQuery(summariesQuery);
  return (
    <Screen
      title={t.title}
      lead={projects.data && <ListLead rows={joinRows(projects.data)} />}
      actions={
        <Link to="/new" className={buttonClass("primary", "md")}>
          <Plus aria-hidden className="size-4" />
          {t.newProject}
        </Link>
      }
    >
      <Region
        query={projects}
        errorTitle={t.notLoaded}
        skeleton={<RowsSkeleton label={t.loading} rows={8} />}
        empty={{ when: (all) => all.length === 0, show: <NoProjects /> }}
      >
        {(all, stale) => (
          <>
            {stale ??
              (summaries.isRefetchError && summaries.data ? (
                <StaleBadge since={summaries.dataUpdatedAt} />
              ) : null)}
            <ProjectList rows={joinRows(all, summaries.data)} />
          </>
        )}
      </Region>
    </Screen>
  );
}

function ListLead({ rows }: { rows: readonly ProjectRow[] }) {
  return t.count(rows.length, rows.length);
}

function NoProjects() {
  return (
    <Empty
      icon={Sprout}
      title={t.emptyTitle}
      action={
        <Link to="/new" className={buttonClass("primary", "md")}>
          {t.newProject}
        </Link>
      }
    >
      {t.emptyText}
    </Empty>
  );
}

function ProjectList({ rows }: { rows: ProjectRow[] }) {
  const search: ProjectsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const { projectsView } = usePreferences();
  const field = useRef<HTMLInputElement>(null);
  const { q = "", status = "", sort: column = "name", desc = false, group = false } = search;
  const sort: Sort = { column, direction: desc ? "descending" : "ascending" };
  const query = useDeferredValue(q);

  const set = (changes: Partial<ProjectsSearch>) => {
    const next = { ...search, ...changes };
    const kept = Object.fromEntries(
      Object.entries(next).filter(([, value]) => value !== "" && value !== false),
    );
    void navigate({ to: "/", search: kept, replace: true });
  };
  const onSort = (next: Sort) =>
    set({ sort: next.column === "name" ? "" : next.column, desc: next.direction === "descending" });
  useShortcuts([{ keys: "/", label: t.search, run: () => field.current?.focus() }]);

  const shown = useMemo(
    () =>
      sortRows(filterRows(rows, { query, status }), { column, direction: desc ? "descending" : "ascending" }),
    [rows, query, status, column, desc],
  );
  const statuses = [...new Set(rows.map((row) => row.status))];
  const organizations = new Set(rows.map((row) => row.organization_slug));
  const groups: [string, ProjectRow[]][] = group ? groupRows(shown) : [["", shown]];
  const show = (part: ProjectRow[]) =>
    projectsView === "table" ? (
      <ProjectTable rows={part} sort={sort} onSort={onSort} />
    ) : (
      <ProjectCards rows={part} />
    );

  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          ref={field}
          label={t.search}
          value={q}
          onValue={(next) => set({ q: next })}
          keys="/"
          className="min-w-48 flex-1 sm:max-w-80"
        />
        {statuses.length > 1 && (
          <SelectField
            isLabelHidden
            label={t.status}
            name="status"
            value={status}
            onValue={(next) => set({ status: next })}
            options={[
              { value: "", label: t.allStatuses },
              ...statuses.map((value) => ({ value, label: statusText(value) })),
            ]}
            className="w-36"
          />
        )}
        {organizations.size >= groupFrom && (
          <SelectField
            isLabelHidden
            label={t.group}
            name="group"
            value={group ? "organization" : ""}
            onValue={(next) => set({ group: next !== "" })}
            options={[
              { value: "", label: t.noGroups },
              { value: "organization", label: t.byOrganization },
            ]}
            className="w-40"
          />
        )}
        <span role="status" className="text-dense text-soft">
          {shown.length === rows.length ? "" : t.count(shown.length, rows.length)}
        </span>
        <div role="group" aria-label={t.view} className="ms-auto flex gap-0.5">
          <IconButton
            label={t.table}
            icon={List}
            aria-pressed={projectsView === "table"}
            className="aria-pressed:bg-sunk aria-pressed:text-text"
            onClick={() => setPreferences({ projectsView: "table" })}
          />
          <IconButton
            label={t.cards}
            icon={LayoutGrid}
            aria-pressed={projectsView === "cards"}
            className="aria-pressed:bg-sunk aria-pressed:text-text"
            onClick={() => setPreferences({ projectsView: "cards" })}
          />
        </div>
      </div>
      {shown.length === 0 ? (
        <Empty
          icon={SearchX}
          title={t.noneFoundTitle}
          action={
            <Button variant="secondary" onClick={() => set({ q: "", status: "" })}>
              {t.clearFilters}
            </Button>
          }
        >
          {t.noneFoundText}
        </Empty>
      ) : (
        groups.map(([organization, part]) => (
          <section key={organization} aria-label={organization || t.title} className="grid gap-2">
            {organization && <h2 className="mt-2 text-sm font-semibold">{organization}</h2>}
            {show(part)}
          </section>
        ))
      )}
    </div>
  );
}
