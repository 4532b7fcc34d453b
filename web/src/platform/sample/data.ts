// Data that look like real ones, for development, screenshots and tests. Never part of a build.

import { random, refOf } from "./refs.mjs";

const now = Date.parse("2026-11-19T20:00:00Z");
const minute = 60_000;
const hour = 60 * minute;
const ago = (milliseconds: number) => new Date(now - milliseconds).toISOString();

const names: [name: string, status: string, organization: string, region: string, tags: string[]][] = [
  ["shop", "ACTIVE_HEALTHY", "acme", "Frankfurt", ["production"]],
  [
    "Kundenportal für Geschäftskunden der Nordwestdeutschen Energieversorgung",
    "ACTIVE_HEALTHY",
    "acme",
    "Frankfurt",
    [],
  ],
  ["warehouse", "ACTIVE_UNHEALTHY", "acme", "Frankfurt", ["production"]],
  ["متجر الكتب", "ACTIVE_HEALTHY", "acme", "Dubai", []],
  ["analytics-2024", "INACTIVE", "acme", "Frankfurt", ["archive"]],
  ["field-notes 🗺", "ACTIVE_HEALTHY", "lab", "Oslo", []],
  ["newsletter", "ACTIVE_HEALTHY", "acme", "Frankfurt", []],
  ["tickets", "COMING_UP", "lab", "Oslo", []],
  ["recipes", "ACTIVE_HEALTHY", "lab", "", []],
  ["crm-migration-test", "INACTIVE", "acme", "Frankfurt", ["temporary"]],
  ["invoices", "ACTIVE_HEALTHY", "acme", "Frankfurt", ["production"]],
  ["status-page", "ACTIVE_HEALTHY", "acme", "Virginia", []],
];

export const projects = names.map(([name, status, organization, region], index) => ({
  id: refOf(index),
  ref: refOf(index),
  name,
  organization_id: organization,
  organization_slug: organization,
  region,
  created_at: ago((index + 3) * 17 * 24 * hour),
  status,
  database: {
    host: `db.${refOf(index)}.plinth.example`,
    version: "17.2",
    postgres_engine: "17",
    release_channel: "ga",
  },
}));

export const branch = {
  ...projects[0]!,
  id: refOf(90),
  ref: refOf(90),
  name: "shop: checkout-redesign",
  parent_project_ref: projects[0]!.ref,
};

export const branches = [
  {
    id: "b0",
    name: "main",
    project_ref: projects[0]!.ref,
    parent_project_ref: projects[0]!.ref,
    is_default: true,
  },
  {
    id: "b1",
    name: "checkout-redesign",
    project_ref: branch.ref,
    parent_project_ref: projects[0]!.ref,
    is_default: false,
  },
];

export const summaries = projects.map(({ ref, status }, index) => {
  const next = random(index + 5);
  const size = [14_200, 3100, 8800, 640, 0, 210, 1800, 0, 90, 0, 5200, 35_400][index] ?? 100;
  return {
    ref,
    branches: index === 0 ? 2 : index % 4 === 3 ? 1 : 0,
    database_bytes: status === "COMING_UP" ? null : Math.round((size + 8) * 92_000 * (0.8 + next())),
    requests_24h:
      size === 0
        ? []
        : Array.from({ length: 24 }, (_, at) =>
            Math.round((size / 24) * (0.35 + Math.sin(((at - 5) / 24) * Math.PI) ** 2 + next() * 0.45)),
          ),
    last_activity:
      size === 0 ? (index === 7 ? null : ago(41 * 24 * hour)) : ago(Math.round(next() * 50) * minute),
    members: 2 + (index % 5),
    tags: names[index]![4],
  };
});

const steps = { "1h": [60, minute], "24h": [48, 30 * minute], "7d": [84, 2 * hour] } as const;

export function overview(ref: string, range: keyof typeof steps) {
  const index = projects.findIndex((project) => project.ref === ref);
  const isNew = ref === projects[8]!.ref;
  const [count, step] = steps[range];
  const next = random(index + 31);
  const series = Array.from({ length: count }, (_, at) => {
    const share = at / count;
    const wave = 0.3 + Math.sin((share - 0.1) * Math.PI) ** 2;
    const load = isNew ? 0 : Math.round(300 * wave + next() * 120);
    const isIncident = range === "24h" && at > 30 && at < 34;
    return {
      at: ago((count - at) * step),
      ok: load,
      client_errors: isNew ? 0 : Math.round(load * 0.02 * next() * 2),
      server_errors: isIncident ? Math.round(load * 0.09) : 0,
      p95_ms: isNew ? null : Math.round(24 + wave * 12 + next() * 9 + (isIncident ? 140 : 0)),
      database_bytes: isNew ? 8_400_000 : Math.round(1_240_000_000 + share * 90_000_000 + next() * 4_000_000),
    };
  });
  if (isNew) {
    return {
      series,
      tables: 0,
      users: 0,
      objects: { count: 0, bytes: 0 },
      functions: 0,
      database_bytes: 8_400_000,
      last_backup: null,
      last_migration: null,
      advisors: { errors: 0, warnings: 0 },
      changes: [],
      log_errors: [],
      slow_queries: [],
      checklist: { table: false, policy: false, user: false, connect: false, backup: false },
    };
  }
  return {
    series,
    tables: 34,
    users: 18_402,
    objects: { count: 12_877, bytes: 48_300_000_000 },
    functions: 6,
    database_bytes: 1_331_000_000,
    last_backup: { at: ago(5 * hour), state: "succeeded" },
    last_migration: { version: "20261118142207", name: "orders_add_delivery_window" },
    advisors: { errors: 1, warnings: 4 },
    changes: [
      { at: ago(26 * minute), kind: "deploy", title: "send-invoice v14", actor: "mira@acme.example" },
      { at: ago(5 * hour), kind: "backup", title: "Scheduled backup", actor: null },
      {
        at: ago(29 * hour),
        kind: "migration",
        title: "orders_add_delivery_window",
        actor: "jonas@acme.example",
      },
      {
        at: ago(31 * hour),
        kind: "settings",
        title: "Auth: magic links are valid for 15 minutes",
        actor: "mira@acme.example",
      },
      {
        at: ago(4 * 24 * hour),
        kind: "member",
        title: "lena@studio-weitblick.example joined as editor",
        actor: "mira@acme.example",
      },
      {
        at: ago(6 * 24 * hour),
        kind: "key",
        title: "Secret key “worker” created",
        actor: "jonas@acme.example",
      },
    ],
    log_errors: [
      {
        at: ago(4 * hour + 11 * minute),
        source: "rest",
        message: 'insert into "orders": duplicate key value violates unique constraint "orders_number_key"',
        request_id: "01jd2r7x5k",
      },
      {
        at: ago(4 * hour + 14 * minute),
        source: "functions",
        message: "send-invoice: TypeError: Cannot read properties of undefined (reading 'total')",
        request_id: "01jd2r6q9m",
      },
    ],
    slow_queries: [
      {
        query: 'select * from "orders" o join "order_items" i on i.order_id = o.id where o.customer_id = $1',
        calls: 8213,
        mean_ms: 214,
      },
      { query: 'select count(*) from "events" where at > now() - interval $1', calls: 1440, mean_ms: 129 },
      { query: 'update "stock" set reserved = reserved + $1 where sku = $2', calls: 20_118, mean_ms: 38.4 },
    ],
    checklist: { table: true, policy: true, user: true, connect: true, backup: false },
  };
}

export function health(ref: string) {
  const isUnhealthy = projects.find((project) => project.ref === ref)?.status === "ACTIVE_UNHEALTHY";
  const latencies: Record<string, number> = { db: 0.6, auth: 3.1, rest: 1.8, storage: 2.4, realtime: 4 };
  return Object.entries(latencies).map(([name, latency_ms]) =>
    isUnhealthy && name === "storage"
      ? { name, healthy: false, status: "UNHEALTHY", error: "The disk of the objects is full (0 B free)" }
      : {
          name,
          healthy: true,
          status: "ACTIVE_HEALTHY",
          info: { version: name === "db" ? "17.2" : "0.9.0", latency_ms },
        },
  );
}

export const apiKeys = [
  { id: "anon", name: "anon", type: "legacy", api_key: "eyJhbGciOiJFUzI1NiJ9.eyJyb2xlIjoiYW5vbiJ9.x" },
  {
    id: "k1",
    name: "default",
    type: "publishable",
    api_key: "sb_publishable_Zk4vQ0m1xJtL8wYhR2nDgA_p7Xc2d9T",
  },
  { id: "k2", name: "default", type: "secret", api_key: "sb_secret_B7d0x······················" },
];

export const jobs = [
  {
    id: "j1",
    kind: "import",
    project: projects[0]!.ref,
    state: "running",
    progress: { done: 614_000_000, total: 1_480_000_000, unit: "bytes" },
    message: "orders_2026.csv: 2,413,880 rows, 91,400 rows per second",
    error: null,
    created_at: ago(minute),
    finished_at: null,
  },
  {
    id: "j2",
    kind: "index",
    project: projects[0]!.ref,
    state: "running",
    progress: { done: 5, total: 9, unit: "phases" },
    message: "orders_customer_id_idx: scanning table",
    error: null,
    created_at: ago(4 * minute),
    finished_at: null,
  },
  {
    id: "j3",
    kind: "backup",
    project: projects[0]!.ref,
    state: "succeeded",
    progress: { done: 48, total: 48, unit: "parts" },
    message: "1.1 GiB in 42 s",
    error: null,
    created_at: ago(5 * hour),
    finished_at: ago(5 * hour - minute),
  },
  {
    id: "j4",
    kind: "restore",
    project: projects[9]!.ref,
    state: "failed",
    progress: { done: 3, total: 48, unit: "parts" },
    message: "",
    error: "The archive was made by a newer Plinth (1.2.0)",
    created_at: ago(26 * hour),
    finished_at: ago(26 * hour - minute),
  },
];

export const me = {
  user: { id: "5f0c7a52-0000-4000-8000-000000000001", email: "mira@acme.example", name: "Mira Sørensen" },
  credential: "session",
  token: null,
  mfa: { required: true, enrolled: true, aal: "aal2", pending: false, fresh_for_seconds: 540 },
  instance: { name: "acme" },
  role: "owner",
  capabilities: ["signed_in", "observe", "read_rows", "write_rows", "develop", "admin", "owner"],
  organizations: [],
  projects: [],
};

const searchable = [
  ["table", "orders", "public", "2.4 M rows"],
  ["table", "order_items", "public", "9.1 M rows"],
  ["table", "customers", "public", "18,402 rows"],
  ["column", "orders.delivery_window", "public", "tstzrange"],
  ["function", "send-invoice", "", "v14"],
  ["snippet", "Orders without items", "", "Mira"],
  ["bucket", "order-documents", "", "private"],
  ["user", "orla@harbour.example", "", "last seen yesterday"],
] as const;

export const search = (query: string) => ({
  results: searchable
    .filter(([, name]) => name.includes(query.toLowerCase()))
    .map(([kind, name, schema, detail]) => ({ kind, id: name, name, schema, detail })),
});
