// The lists of the home: facts, what changed, recent errors and slow queries.

import {
  ArrowUpFromLine,
  Archive,
  KeyRound,
  ListTree,
  type LucideIcon,
  Settings2,
  UserPlus,
} from "lucide-react";
import type { ReactNode } from "react";

import { Badge } from "../../../components/badge";
import { Bone, Loading, type RegionQuery } from "../../../components/data-states";
import { Panel } from "../../../components/panel";
import { Time } from "../../../components/time";
import { formatBytes, formatMs, formatNumber } from "../../../lib/format";
import { texts } from "../../texts";
import type { Overview } from "./api";

const t = texts.home;

type Props = { query: RegionQuery<Overview> };

/** Lines in the place of a list. The error itself is shown once, by the figures. */
function ListSkeleton({ lines }: { lines: number }) {
  return (
    <Loading label={t.overviewLoading}>
      <div className="grid gap-3 p-4">
        {Array.from({ length: lines }, (_, line) => (
          <Bone key={line} className="h-4" />
        ))}
      </div>
    </Loading>
  );
}

const changeIcons: Record<string, LucideIcon> = {
  migration: ListTree,
  deploy: ArrowUpFromLine,
  settings: Settings2,
  member: UserPlus,
  backup: Archive,
  key: KeyRound,
};

export function Changes({ query: { data, isError } }: Props) {
  if (isError && !data) return null;
  return (
    <Panel title={t.changes} isFlush>
      {data === undefined ? (
        <ListSkeleton lines={4} />
      ) : data.changes.length === 0 ? (
        <p className="p-4 text-dense text-soft">{t.noChanges}</p>
      ) : (
        <ol className="divide-y divide-line-soft">
          {data.changes.map((change) => {
            const Icon = changeIcons[change.kind] ?? Settings2;
            return (
              <li
                key={`${change.at} ${change.title}`}
                className="flex items-center gap-3 px-4 py-2 text-dense"
              >
                <Icon aria-hidden className="size-4 shrink-0 text-soft" />
                <span className="w-20 shrink-0 text-soft max-sm:sr-only">
                  {t.changeKinds[change.kind] ?? change.kind}
                </span>
                <span className="min-w-0 flex-1 truncate" title={change.title}>
                  <bdi>{change.title}</bdi>
                  {change.actor && <span className="text-soft"> {t.by(change.actor)}</span>}
                </span>
                <span className="shrink-0 text-soft">
                  <Time at={change.at} />
                </span>
              </li>
            );
          })}
        </ol>
      )}
    </Panel>
  );
}

export function RecentErrors({ query: { data } }: Props & { projectRef: string }) {
  if (!data || data.log_errors.length === 0) return null;
  return (
    <Panel title={t.recentErrors} isFlush>
      <ul className="divide-y divide-line-soft">
        {data.log_errors.map((error) => (
          <li key={`${error.at} ${error.message}`} className="grid gap-1 px-4 py-2 text-dense">
            <p className="flex items-start gap-2">
              <Badge tone="danger">{error.source}</Badge>
              <span className="min-w-0 flex-1 font-mono text-xs leading-5 [overflow-wrap:anywhere]">
                {error.message}
              </span>
              <span className="shrink-0 text-soft">
                <Time at={error.at} />
              </span>
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function SlowQueries({ query: { data } }: Props) {
  if (!data || data.slow_queries.length === 0) return null;
  const slowest = Math.max(...data.slow_queries.map((query) => query.mean_ms));
  return (
    <Panel title={t.slowQueries} isFlush>
      <ol className="divide-y divide-line-soft">
        {data.slow_queries.map((query) => (
          <li key={query.query} className="relative grid gap-0.5 px-4 py-2">
            <span
              aria-hidden
              className="absolute inset-y-0 start-0 bg-accent-surface opacity-60"
              style={{ inlineSize: `${(query.mean_ms / slowest) * 100}%` }}
            />
            <code className="relative truncate font-mono text-xs" title={query.query}>
              {query.query}
            </code>
            <span className="relative text-xs text-soft tabular-nums">
              {t.callsAndMean(formatNumber(query.calls), formatMs(query.mean_ms))}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

export function Facts({ query: { data, isError } }: Props) {
  if (isError && !data) return null;
  return (
    <Panel title={t.facts} isFlush>
      {data === undefined ? <ListSkeleton lines={6} /> : <FactList overview={data} />}
    </Panel>
  );
}

const count = (value: number | null) => (value === null ? "–" : formatNumber(value));

function FactList({ overview }: { overview: Overview }) {
  const { objects, last_backup: backup, last_migration: migration, advisors } = overview;
  const findings = advisors ? t.findingCount(advisors.errors, advisors.warnings) : "";
  return (
    <dl className="divide-y divide-line-soft text-dense">
      <Fact name={t.tables}>{count(overview.tables)}</Fact>
      <Fact name={t.users}>{count(overview.users)}</Fact>
      <Fact name={t.objects}>
        {objects ? `${formatNumber(objects.count)} · ${formatBytes(objects.bytes)}` : "–"}
      </Fact>
      <Fact name={t.functions}>{count(overview.functions)}</Fact>
      <Fact name={t.lastMigration}>
        {migration ? (
          <span className="font-mono text-xs">{migration.name ?? migration.version}</span>
        ) : (
          <span className="text-soft">{t.noMigration}</span>
        )}
      </Fact>
      <Fact name={t.lastBackup}>
        {backup ? <Time at={backup.at} /> : <span className="text-soft">{t.noBackup}</span>}
      </Fact>
      <Fact name={t.findings}>
        {findings ? (
          <Badge tone={advisors!.errors > 0 ? "danger" : "warn"}>{findings}</Badge>
        ) : (
          <span className="text-soft">{t.noFindings}</span>
        )}
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-h-row items-center justify-between gap-4 px-4">
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 truncate text-end tabular-nums">{children}</dd>
    </div>
  );
}
