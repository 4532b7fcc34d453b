// Four small charts: requests, errors, p95 and database size.

import { TimeChart } from "../../../components/chart";
import { Bone, Loading, Region, type RegionQuery } from "../../../components/data-states";
import { Stat } from "../../../components/stat";
import { formatBytes, formatCompact, formatMs, formatNumber } from "../../../lib/format";
import { texts } from "../../texts";
import type { Overview } from "./api";

const t = texts.home;
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 2 });

type Bucket = Overview["series"][number];

const total = (series: readonly Bucket[], value: (bucket: Bucket) => number) =>
  series.reduce((sum, bucket) => sum + value(bucket), 0);

/** The newest number that is known. */
const latest = (series: readonly Bucket[], value: (bucket: Bucket) => number | null) =>
  series.findLast((bucket) => value(bucket) !== null);

export function Figures({ query }: { query: RegionQuery<Overview> }) {
  return (
    <Region query={query} errorTitle={t.overviewNotLoaded} skeleton={<FiguresSkeleton />}>
      {(overview, stale) => (
        <div className="grid gap-1.5">
          {stale}
          <Charts overview={overview} />
        </div>
      )}
    </Region>
  );
}

const frameClass =
  "grid grid-cols-2 rounded-lg border border-line bg-surface max-xl:[&>*:nth-child(n+3)]:border-t xl:grid-cols-4 [&>*]:border-line-soft xl:[&>*+*]:border-s max-xl:[&>*:nth-child(even)]:border-s";

function Charts({ overview: { series, database_bytes } }: { overview: Overview }) {
  const ok = total(series, (bucket) => bucket.ok);
  const client = total(series, (bucket) => bucket.client_errors);
  const server = total(series, (bucket) => bucket.server_errors);
  const all = ok + client + server;
  const p95 = latest(series, (bucket) => bucket.p95_ms)?.p95_ms ?? null;
  const size = database_bytes ?? latest(series, (bucket) => bucket.database_bytes)?.database_bytes ?? null;
  const points = (value: (bucket: Bucket) => number | null) =>
    series.map((bucket) => ({ at: bucket.at, value: value(bucket) ?? 0 }));
  return (
    <div className={frameClass}>
      <Stat label={t.requests} value={formatCompact(all)} note={all === 0 ? t.noData : undefined}>
        <TimeChart
          kind="bars"
          label={t.requests}
          timeLabel={t.time}
          format={formatNumber}
          series={[
            { name: t.ok, tone: 1, points: points((bucket) => bucket.ok) },
            { name: t.clientErrors, tone: 3, points: points((bucket) => bucket.client_errors) },
            { name: t.serverErrors, tone: 4, points: points((bucket) => bucket.server_errors) },
          ]}
        />
      </Stat>
      <Stat
        label={t.errors}
        value={formatCompact(client + server)}
        note={
          all === 0 || client + server === 0
            ? t.noErrors
            : t.errorShare(percent.format((client + server) / all))
        }
      >
        <TimeChart
          kind="bars"
          label={t.errors}
          timeLabel={t.time}
          format={formatNumber}
          series={[
            { name: t.clientErrors, tone: 3, points: points((bucket) => bucket.client_errors) },
            { name: t.serverErrors, tone: 4, points: points((bucket) => bucket.server_errors) },
          ]}
        />
      </Stat>
      <Stat label={t.latency} value={p95 === null ? "–" : formatMs(p95)}>
        <TimeChart
          kind="line"
          label={t.latency}
          timeLabel={t.time}
          format={formatMs}
          series={[{ name: t.latency, tone: 2, points: points((bucket) => bucket.p95_ms) }]}
        />
      </Stat>
      <Stat label={t.size} value={size === null ? "–" : formatBytes(size)}>
        <TimeChart
          kind="line"
          label={t.size}
          timeLabel={t.time}
          format={formatBytes}
          series={[{ name: t.size, tone: 1, points: points((bucket) => bucket.database_bytes) }]}
        />
      </Stat>
    </div>
  );
}

function FiguresSkeleton() {
  return (
    <Loading label={t.overviewLoading}>
      <div className={frameClass}>
        {[t.requests, t.errors, t.latency, t.size].map((label) => (
          <div key={label} className="grid gap-1 p-4">
            <Bone className="h-[1.125rem] w-20" />
            <Bone className="h-7 w-24" />
            <Bone className="h-16" />
          </div>
        ))}
      </div>
    </Loading>
  );
}
