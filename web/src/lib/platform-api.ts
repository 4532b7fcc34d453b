// The types of the platform API. Generated from docs/platform-openapi.json by `cargo xtask docs`.

export type AppliedBody = {
  notices: string[];
  version: string;
};

export type BearerJwtBody = {
  token: string;
};

export type BearerJwtRequest = {
  /** Additional claims, which override the others. */
  payload?: Record<string, unknown>;
  role: string;
  sub?: string | null;
  valid_for_seconds: number;
};

export type BucketBody = {
  debug: number;
  error: number;
  info: number;
  start: string;
  trace: number;
  warn: number;
};

export type ChangeBody = {
  after: unknown;
  /** Secrets are `***`. */
  before: unknown;
  name: string;
};

/** A check of `plinth doctor`. */
export type CheckBody = {
  fix: string | null;
  message: string;
  name: string;
  /** `ok`, `warning` or `error`. */
  status: string;
};

/** Whether the first steps were done. */
export type ChecklistBody = {
  policy: boolean;
  table: boolean;
  user: boolean;
};

/** The settings of a project. */
export type ConfigBody = {
  /** For `If-Match` of a change; also the header `ETag`, in quotes. */
  etag: string;
  settings: SettingBody[];
};

/** The state after a change, and what differs. */
export type ConfigChangedBody = {
  changes: ChangeBody[];
  etag: string;
};

/** What a file has otherwise than the project. */
export type ConfigFileBody = {
  differences: DifferenceBody[];
  etag: string;
  /** Whether the differences without an obstacle were applied. */
  is_applied: boolean;
};

/** Changes of settings. */
export type ConfigRequest = {
  /** Values by name; null goes back to the default, and `***` leaves a secret as it is. */
  settings: Record<string, unknown>;
};

/** Connections of one role in one state. */
export type ConnectionsBody = {
  count: number;
  role: string;
  /** `active`, `idle`, `idle in transaction`, … */
  state: string;
};

/** What stands before and after a record, newest first; the record itself is in neither. */
export type ContextBody = {
  newer: LogRecordBody[];
  older: LogRecordBody[];
};

export type DatabaseBody = {
  host: string;
  postgres_engine: string;
  release_channel: string;
  version: string;
};

export type DatabasePasswordRequest = {
  /** Generated when absent, which the Management API does not know. */
  password?: string | null;
};

/** The database of a project. */
export type DatabaseReportBody = {
  bytes: number;
  /** The share of blocks that were found in the cache; null before the first read. */
  cache_hit_ratio: number | null;
  commits: number;
  connections: ConnectionsBody[];
  /** Since when these are counted. */
  counted_since: string | null;
  deadlocks: number;
  rollbacks: number;
  /** The largest ones, those of the services last. */
  tables: TableReportBody[];
  /** Bytes that sorts and joins wrote to temporary files. */
  temporary_bytes: number;
  /** Transactions until the database must be vacuumed, at the latest. */
  transactions_left: number;
};

export type DatabaseUrlBody = {
  url: string;
};

export type DifferenceBody = {
  after: unknown;
  /** Secrets are `***`. */
  before: unknown;
  name: string;
  /** Why it cannot be changed here. */
  obstacle: string | null;
};

export type DoneBody = {
  message: string;
};

export type Error = {
  /** See docs/errors.md. */
  code: string;
  /** Depends on the code. */
  details?: unknown;
  /** What is wrong, for people. */
  message: string;
};

/** What stands in `data`. */
export type EventBody = {
  at?: string | null;
  project?: string | null;
  type: string;
  [name: string]: unknown;
};

export type ExportFormat = "ndjson" | "csv";

export type FileCheckRequest = {
  repair?: boolean;
  verify_digests?: boolean;
};

/** Something that was found. */
export type FoundBody = {
  /** The table of a column. */
  detail: string | null;
  /** What it is addressed by: the oid of what is in the database, of a column that of its table; otherwise an id or the name. */
  id: string;
  /** `table`, `view`, `column`, `database_function`, `bucket`, `user`, `function` or `setting`. */
  kind: string;
  name: string;
  /** The schema of objects in the database. */
  schema: string | null;
};

/** A deployed version of a function. */
export type FunctionVersionBody = {
  activated_at: string | null;
  created_at: string;
  ezbr_sha256: string;
  is_active: boolean;
  version: number;
};

/** Counts in equal intervals. */
export type HistogramBody = {
  buckets: BucketBody[];
  since: string;
  until: string;
  /** Seconds of an interval. */
  width: number;
};

/** A job. */
export type JobBody = {
  /** Whether it was asked to end. */
  cancel_requested: boolean;
  created_at: string;
  created_by: string | null;
  error: string | null;
  finished_at: string | null;
  id: string;
  kind: string;
  /** The current step. */
  message: string;
  progress: ProgressBody;
  project: string | null;
  /** What it achieved; depends on its kind. */
  result: unknown;
  started_at: string | null;
  /** `queued`, `running`, `succeeded`, `failed` or `cancelled`. */
  state: string;
};

export type LastMigrationBody = {
  name: string | null;
  version: string;
};

export type LogErrorBody = {
  at: string;
  message: string;
  request_id: string | null;
  source: string;
};

/** A page of records, newest first. */
export type LogPageBody = {
  /** The cursor of the next page. */
  next: string | null;
  records: LogRecordBody[];
};

/** A record of the log. */
export type LogRecordBody = {
  /** Details, such as `status`, `path`, `user.id`, `duration_ms`. */
  fields: Record<string, unknown>;
  /** Its position, for its context and as a cursor. Absent in a live tail. */
  id?: string | null;
  level: string;
  message: string;
  project: string;
  request_id?: string | null;
  source: string;
  time: string;
};

/** A source of records. */
export type LogSourceBody = {
  /** Bytes on disk. */
  bytes: number;
  /** Seconds that records are kept. */
  max_age: number;
  /** Bytes that are kept. */
  max_bytes: number;
  /** When the oldest record is from. */
  oldest: string | null;
  source: string;
};

export type MailBody = {
  at: string;
  from: string;
  html: string;
  id: string;
  /** URLs in it. */
  links: string[];
  /** The one-time code in it. */
  otp: string | null;
  subject: string;
  /** Which of the auth service's mails it is. */
  template: string;
  text: string;
  to: string;
};

/** A page of mails, newest first. */
export type MailboxBody = {
  messages: MailBody[];
  /** The cursor of the next page. */
  next: string | null;
};

/** Series over time. */
export type MetricBody = {
  name: MetricName;
  series: SeriesBody[];
  /** When the first point begins. */
  since: string;
  /** Seconds between points. */
  step: number;
  /** `requests`, `bytes` or `ms`. */
  unit: string;
  until: string;
};

export type MetricBy = "service" | "route" | "status";

export type MetricName = "requests" | "errors" | "bytes" | "latency";

export type MigrationBody = {
  name: string | null;
  version: string;
};

export type MigrationRequest = {
  file_name: string;
  sql: string;
};

export type NewS3CredentialBody = {
  access_key: string;
  description: string;
  id: string;
  secret_key: string;
};

/** Estimated by PostgreSQL's statistics. */
export type ObjectsBody = {
  count: number;
};

/** A project at a glance. */
export type OverviewBody = {
  /** The latest changes by operators, newest first. */
  changes: OverviewChangeBody[];
  checklist: ChecklistBody | null;
  database_bytes: number | null;
  /** Deployed functions. */
  functions: number | null;
  last_migration: LastMigrationBody | null;
  /** The latest records of the level error within the range. */
  log_errors: LogErrorBody[];
  objects: ObjectsBody | null;
  /** The most frequent ones. */
  routes: TrafficBody[];
  /** Requests in equal steps, oldest first. */
  series: StepBody[];
  /** By service. */
  services: TrafficBody[];
  since: string;
  slow_queries: SlowQueryBody[];
  /** Tables in the schemas of users. */
  tables: number | null;
  until: string;
  /** Estimated. */
  users: number | null;
};

/** Something that an operator changed. */
export type OverviewChangeBody = {
  actor: string;
  at: string;
  /** `migration`, `deploy`, `settings`, `member`, `backup`, `key` or `project`. */
  kind: string;
  /** The action, and what it was about. */
  title: string;
};

export type ProgressBody = {
  done: number;
  total: number;
  unit: string;
};

/** A project, as in the Management API. */
export type ProjectBody = {
  created_at: string;
  database?: DatabaseBody | null;
  id: string;
  /** Ours: whether it has a PostgreSQL server of its own. */
  isolated?: boolean;
  name: string;
  organization_id: string;
  organization_slug: string;
  parent_project_ref?: string | null;
  ref: string;
  region: string;
  status: string;
};

/** A project in the list. */
export type ProjectSummaryBody = {
  branches: number;
  created_at: string;
  /** As of a minute ago or so; null while it is not known. */
  database_bytes: number | null;
  /** Of these, those that ended with a status of 500 or more. */
  errors: number;
  /** Whether it has a PostgreSQL server of its own. */
  is_isolated: boolean;
  /** The latest request, within what the log knows. */
  last_activity: string | null;
  name: string;
  organization_slug: string;
  /** The project that it is a branch of. */
  parent_project_ref: string | null;
  ref: string;
  region: string;
  /** Requests of the last 24 hours, by hour, the current one last. */
  requests_24h: number[];
  status: string;
};

/** Statements, or why there are none. */
export type QueriesBody = {
  /** How to enable it. */
  hint: string | null;
  /** Whether the server counts statements. */
  is_available: boolean;
  queries: QueryReportBody[];
};

export type QueryOrder = "total_time" | "mean_time" | "calls" | "rows";

/** A statement, without its values. */
export type QueryReportBody = {
  /** The share of blocks that were found in the cache. */
  cache_hit_ratio: number | null;
  calls: number;
  /** Identifies it, as text: it is a 64-bit number. */
  id: string | null;
  max_ms: number;
  mean_ms: number;
  query: string;
  role: string | null;
  rows: number;
  temporary_blocks: number;
  /** Milliseconds. */
  total_ms: number;
};

export type RollbackRequest = {
  version?: number | null;
};

export type RotateRequest = {
  what: "signing";
} | {
  what: "legacy";
} | {
  grace_seconds?: number;
  key: string;
  what: "api";
};

/** A pair of keys for the S3 protocol, without its secret. */
export type S3CredentialBody = {
  access_key: string;
  created_at: string;
  description: string;
  id: string;
};

export type S3CredentialRequest = {
  claims?: Record<string, unknown>;
  description: string;
};

/** What was found, by kind. */
export type SearchBody = {
  results: FoundBody[];
};

export type SeedBody = {
  /** `ran`, `known` or `changed`. */
  outcome: string;
};

export type SeedRequest = {
  path: string;
  sql: string;
};

/** One series. */
export type SeriesBody = {
  /** The service, route or class of status; empty if there is only one. */
  key: string;
  /** Of latencies: `p50`, `p95` or `p99`. */
  quantile?: string | null;
  /** One for each step; null where nothing is known. */
  values: (number | null)[];
};

/** A setting. */
export type SettingBody = {
  /** Words to choose from, or the columns of records. */
  choices: string[];
  default: unknown;
  /** The form of the value in words. */
  expected: string;
  /** Whether this operator may change it here. */
  is_changeable: boolean;
  /** Whether Plinth only accepts it, so that existing files load. */
  is_ignored: boolean;
  max: number | null;
  meaning: string;
  min: number | null;
  /** Dotted name. */
  name: string;
  /** Whether a change takes effect only when Plinth starts again. */
  needs_restart: boolean;
  /** Why it cannot be changed here. */
  obstacle: string | null;
  /** Where the value is written, for people. */
  place: string | null;
  /** `command_line`, `environment`, `file`, `stored` or `default`. */
  source: string;
  /** `boolean`, `integer`, `text`, `secret`, `url`, `path`, `duration`, `bytes`, `choice`, `list`, `choices`, `names`, `table`, `secret_table` or `records`. */
  type: string;
  /** Secrets are `***`; null if it is not set. */
  value: unknown;
};

/** A statement in the overview. */
export type SlowQueryBody = {
  calls: number;
  mean_ms: number;
  query: string;
};

/** The requests within a step. */
export type StepBody = {
  at: string;
  client_errors: number;
  ok: number;
  p95_ms: number | null;
  server_errors: number;
};

export type TableReportBody = {
  /** With its indexes and long values. */
  bytes: number;
  /** Bytes that dead rows take up, estimated by their share. */
  dead_bytes: number;
  /** Rows that were deleted or updated and take up space. */
  dead_rows: number;
  index_bytes: number;
  index_scans: number;
  last_analyze: string | null;
  last_vacuum: string | null;
  name: string;
  /** Estimated. */
  rows: number;
  schema: string;
  sequential_scans: number;
};

/** `data` of a live tail: a record with the event `record`, or with `dropped` how many were left out because the reader was too slow. */
export type TailBody = LogRecordBody | {
  count: number;
};

export type TokenRequest = {
  expires_at?: string | null;
  name: string;
  projects?: string[] | null;
  read_only?: boolean;
  scopes?: string[] | null;
};

/** The requests to something. */
export type TrafficBody = {
  bytes: number;
  /** By the class of the status, 1xx to 5xx. */
  classes: number[];
  name: string;
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  requests: number;
};

/** Every operation: its query, body and answer. */
export type PlatformApi = {
  "GET /platform/doctor": { answer: CheckBody[] };
  "GET /platform/events": { query: { last_event_id?: string | null; project?: string | null }; answer: EventBody };
  "GET /platform/jobs": { query: { cursor?: string | null; kind?: string | null; limit?: number | null; project?: string | null; state?: string | null }; answer: JobBody[] };
  "GET /platform/jobs/{id}": { answer: JobBody };
  "POST /platform/jobs/{id}/cancel": { answer: JobBody };
  "GET /platform/openapi.json": { answer: Record<string, unknown> };
  "GET /platform/projects": { answer: ProjectBody[] };
  "GET /platform/projects/summary": { answer: ProjectSummaryBody[] };
  "GET /platform/projects/{ref}": { answer: ProjectBody };
  "POST /platform/projects/{ref}/bearer-jwt": { body: BearerJwtRequest; answer: BearerJwtBody };
  "GET /platform/projects/{ref}/config": { answer: ConfigBody };
  "PATCH /platform/projects/{ref}/config": { body: ConfigRequest; answer: ConfigChangedBody };
  "GET /platform/projects/{ref}/config.toml": { answer: string };
  "PUT /platform/projects/{ref}/config.toml": { query: { dry_run?: boolean }; body: string; answer: ConfigFileBody };
  "GET /platform/projects/{ref}/database": { answer: DatabaseUrlBody };
  "PATCH /platform/projects/{ref}/database/password": { body: DatabasePasswordRequest; answer: DoneBody };
  "POST /platform/projects/{ref}/database/reset": { answer: DoneBody };
  "POST /platform/projects/{ref}/functions/{slug}/rollback": { body: RollbackRequest; answer: unknown };
  "GET /platform/projects/{ref}/functions/{slug}/versions": { answer: FunctionVersionBody[] };
  "POST /platform/projects/{ref}/keys/rotate": { body: RotateRequest; answer: unknown };
  "GET /platform/projects/{ref}/logs": { query: { cursor?: string | null; level?: string | null; limit?: number | null; q?: string | null; since?: string | null; source?: string | null; until?: string | null }; answer: LogPageBody };
  "GET /platform/projects/{ref}/logs/context": { query: { each_way?: number | null; id?: string | null; q?: string | null; source?: string | null }; answer: ContextBody };
  "GET /platform/projects/{ref}/logs/export": { query: { format?: ExportFormat | null; level?: string | null; q?: string | null; since?: string | null; source?: string | null; until?: string | null }; answer: Blob };
  "GET /platform/projects/{ref}/logs/histogram": { query: { buckets?: number | null; level?: string | null; q?: string | null; since?: string | null; source?: string | null; until?: string | null }; answer: HistogramBody };
  "GET /platform/projects/{ref}/logs/requests/{id}": { answer: LogPageBody };
  "GET /platform/projects/{ref}/logs/sources": { answer: LogSourceBody[] };
  "GET /platform/projects/{ref}/logs/tail": { query: { cursor?: string | null; level?: string | null; limit?: number | null; q?: string | null; since?: string | null; source?: string | null; until?: string | null }; answer: TailBody };
  "DELETE /platform/projects/{ref}/mailbox": { answer: undefined };
  "GET /platform/projects/{ref}/mailbox": { query: { cursor?: string | null; limit?: number | null; since?: string | null; to?: string | null }; answer: MailboxBody };
  "DELETE /platform/projects/{ref}/mailbox/{id}": { answer: undefined };
  "GET /platform/projects/{ref}/mailbox/{id}": { answer: MailBody };
  "GET /platform/projects/{ref}/metrics/query": { query: { by?: MetricBy | null; name?: MetricName | null; range?: string | null; service?: string | null; step?: number | null; until?: string | null }; answer: MetricBody };
  "GET /platform/projects/{ref}/migrations": { answer: MigrationBody[] };
  "POST /platform/projects/{ref}/migrations": { body: MigrationRequest; answer: AppliedBody };
  "GET /platform/projects/{ref}/overview": { query: { range?: string | null }; answer: OverviewBody };
  "GET /platform/projects/{ref}/queries": { query: { limit?: number | null; search?: string | null; sort?: QueryOrder }; answer: QueriesBody };
  "GET /platform/projects/{ref}/reports/database": { answer: DatabaseReportBody };
  "GET /platform/projects/{ref}/search": { query: { limit?: number | null; q?: string | null }; answer: SearchBody };
  "POST /platform/projects/{ref}/seed": { body: SeedRequest; answer: SeedBody };
  "POST /platform/projects/{ref}/storage/check": { body: FileCheckRequest; answer: unknown };
  "GET /platform/projects/{ref}/storage/credentials": { answer: S3CredentialBody[] };
  "POST /platform/projects/{ref}/storage/credentials": { body: S3CredentialRequest; answer: NewS3CredentialBody };
  "DELETE /platform/projects/{ref}/storage/credentials/{id}": { answer: undefined };
  "GET /platform/status": { query: { project?: string | null }; answer: Record<string, string> };
  "GET /platform/tokens": { answer: unknown[] };
  "POST /platform/tokens": { body: TokenRequest; answer: unknown };
  "DELETE /platform/tokens/{id}": { answer: unknown };
};
