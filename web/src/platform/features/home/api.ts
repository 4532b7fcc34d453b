// What the home of a project shows.

import { queryOptions } from "@tanstack/react-query";
import * as shape from "../../../lib/shape";

import { api, segment } from "../../lib/api";

export const ranges = ["1h", "24h", "7d"] as const;
export type Range = (typeof ranges)[number];
export const isRange = (value: unknown): value is Range => ranges.some((range) => range === value);

const Bucket = shape.object({
  at: shape.string,
  ok: shape.withDefault(shape.number, 0),
  client_errors: shape.withDefault(shape.number, 0),
  server_errors: shape.withDefault(shape.number, 0),
  p95_ms: shape.maybe(shape.number),
  database_bytes: shape.maybe(shape.number),
});

const Change = shape.object({
  at: shape.string,
  kind: shape.string,
  title: shape.string,
  actor: shape.maybe(shape.string),
});

const LogError = shape.object({
  at: shape.string,
  source: shape.string,
  message: shape.string,
  request_id: shape.maybe(shape.string),
});

const SlowQuery = shape.object({ query: shape.string, calls: shape.number, mean_ms: shape.number });

const Overview = shape.object({
  series: shape.withDefault(shape.array(Bucket), []),
  tables: shape.maybe(shape.number),
  users: shape.maybe(shape.number),
  objects: shape.maybe(shape.object({ count: shape.number, bytes: shape.number })),
  functions: shape.maybe(shape.number),
  database_bytes: shape.maybe(shape.number),
  last_backup: shape.maybe(shape.object({ at: shape.string, state: shape.string })),
  last_migration: shape.maybe(shape.object({ version: shape.string, name: shape.maybe(shape.string) })),
  advisors: shape.maybe(shape.object({ errors: shape.number, warnings: shape.number })),
  changes: shape.withDefault(shape.array(Change), []),
  log_errors: shape.withDefault(shape.array(LogError), []),
  slow_queries: shape.withDefault(shape.array(SlowQuery), []),
  /** Steps of the checklist that are done. */
  checklist: shape.withDefault(shape.record(shape.boolean), {}),
});
export type Overview = shape.Infer<typeof Overview>;

export const overviewQuery = (ref: string, range: Range) =>
  queryOptions({
    queryKey: ["project", ref, "overview", range],
    queryFn: ({ signal }) =>
      api.get(`/platform/projects/${segment(ref)}/overview?range=${range}`, Overview, { signal }),
    // Charts of another range stay until the new one is there.
    placeholderData: (previous) => previous,
  });

const Health = shape.object({
  name: shape.string,
  healthy: shape.boolean,
  status: shape.string,
  error: shape.maybe(shape.string),
  info: shape.maybe(
    shape.maybe(
      shape.object({
        version: shape.maybe(shape.string),
        latency_ms: shape.maybe(shape.number),
      }),
    ),
  ),
});
export type ServiceHealth = shape.Infer<typeof Health>;

/** The order of the screen. */
const services = ["db", "auth", "rest", "storage", "realtime"];

export const healthQuery = (ref: string) =>
  queryOptions({
    queryKey: ["project", ref, "health"],
    queryFn: ({ signal }) => {
      const query = services.map((name) => `services=${name}`).join("&");
      return api.get(`/v1/projects/${segment(ref)}/health?${query}`, shape.array(Health), { signal });
    },
    refetchInterval: 30_000,
  });
