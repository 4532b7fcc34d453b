import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("en");

/** The home of a project. */
export const home = {
  loading: "Loading the project",
  notLoaded: "The project could not be loaded.",
  overviewNotLoaded: "The figures could not be loaded.",
  overviewLoading: "Loading figures",
  range: "Time range",
  ranges: { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days" },
  rangesShort: { "1h": "1 h", "24h": "24 h", "7d": "7 d" },

  requests: "Requests",
  errors: "Errors",
  latency: "p95",
  size: "Database size",
  perRange: (count: string) => `${count} in all`,
  errorShare: (share: string) => `${share} of all`,
  noErrors: "none",
  time: "Time",
  ok: "Successful",
  clientErrors: "4xx",
  serverErrors: "5xx",
  noData: "No requests in this time",

  services: "Services",
  servicesLoading: "Checking services",
  servicesNotLoaded: "The services could not be checked.",
  serviceNames: {
    auth: "Auth",
    rest: "REST",
    realtime: "Realtime",
    storage: "Storage",
    functions: "Functions",
    db: "Database",
  } as Record<string, string>,
  serviceStates: {
    ACTIVE_HEALTHY: "Healthy",
    COMING_UP: "Starting",
    UNHEALTHY: "Unhealthy",
  } as Record<string, string>,
  allHealthy: "All services are healthy",
  someUnhealthy: (count: number) =>
    `${count} ${plural(count, { one: "service is", other: "services are" })} not healthy`,

  api: "API",
  apiUrl: "API URL",
  publishableKey: "Publishable key",
  secretKey: "Secret key",
  keysLoading: "Loading keys",
  keysNotLoaded: "The keys could not be loaded.",
  keysHint:
    "The publishable key is for browsers. The secret key is for servers and is shown in the settings.",
  noKey: "There is none.",

  facts: "At a glance",
  tables: "Tables",
  users: "Users",
  objects: "Files",
  functions: "Functions",
  lastBackup: "Last backup",
  lastMigration: "Last migration",
  findings: "Advisor findings",
  noBackup: "None yet",
  noMigration: "None yet",
  noFindings: "None",
  findingCount: (errors: number, warnings: number) =>
    [
      errors > 0 && `${errors} ${plural(errors, { one: "error", other: "errors" })}`,
      warnings > 0 && `${warnings} ${plural(warnings, { one: "warning", other: "warnings" })}`,
    ]
      .filter(Boolean)
      .join(", "),

  changes: "What changed",
  noChanges: "No migrations, deploys or changed settings yet.",
  changeKinds: {
    migration: "Migration",
    deploy: "Deploy",
    settings: "Settings",
    member: "Member",
    backup: "Backup",
    key: "Key",
  } as Record<string, string>,
  by: (actor: string) => `by ${actor}`,

  recentErrors: "Recent errors",
  noRecentErrors: "No errors in this time.",
  slowQueries: "Slowest queries",
  callsAndMean: (calls: string, mean: string) => `${calls} calls, ${mean} mean`,

  quickStart: "In your application",
  checklistTitle: "Get started",
  nextSteps: "Next steps",
  checklistLead: "Everything here can be done later, and in any order.",
  checklistDone: (done: number, all: number) => `${done} of ${all} done`,
  done: "done",
  steps: {
    table: { title: "Create a table", text: "With row-level security on from the start." },
    policy: { title: "Write a policy", text: "Say who may read and change which rows." },
    user: { title: "Sign in a user", text: "Password, magic link, passkey or a provider." },
    connect: {
      title: "Connect your application",
      text: "The snippets already hold this project’s URL and key.",
    },
    backup: { title: "Make a backup", text: "One archive with database, files and settings." },
  },
};
