import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("en");

export const projects = {
  title: "Projects",
  loading: "Loading projects",
  notLoaded: "The projects could not be loaded.",
  newProject: "New project",
  search: "Search projects",
  count: (shown: number, all: number) =>
    shown === all
      ? `${all} ${plural(all, { one: "project", other: "projects" })}`
      : `${shown} of ${all} projects`,
  status: "Status",
  allStatuses: "Any status",
  group: "Group",
  noGroups: "No groups",
  byOrganization: "By organization",
  view: "View",
  table: "Table",
  cards: "Cards",

  name: "Name",
  requests: "Requests, 24 h",
  size: "Database",
  branches: "Branches, members",
  members: "Members",
  region: "Region",
  activity: "Last activity",
  created: "Created",
  never: "never",
  unknown: "–",

  emptyTitle: "No projects yet",
  emptyText:
    "A project is a database with sign-in, REST, realtime, storage and functions. It takes a second.",
  noneFoundTitle: "No project matches",
  noneFoundText: "Try another word, or clear the filters.",
  clearFilters: "Clear filters",

  requestsText: (count: string, trend: "rising" | "falling" | "steady") =>
    `${count} requests in 24 hours, ${trend}`,
  noRequests: "No requests in 24 hours",
  branchCount: (count: number) => `${count} ${plural(count, { one: "branch", other: "branches" })}`,
  memberCount: (count: number) => `${count} ${plural(count, { one: "member", other: "members" })}`,

  statuses: {
    COMING_UP: "Starting",
    ACTIVE_HEALTHY: "Active",
    ACTIVE_UNHEALTHY: "Unhealthy",
    PAUSING: "Pausing",
    INACTIVE: "Paused",
    RESTORING: "Restoring",
    RESTARTING: "Restarting",
    GOING_DOWN: "Stopping",
    REMOVED: "Deleted",
    INIT_FAILED: "Creation failed",
  } as Record<string, string>,

  createTitle: "New project",
  createLead: "The project is ready in about a second.",
  create: "Create project",
  creating: "Creating…",
  createdToast: (name: string) => `${name} is ready.`,
  nameHint: "Up to 256 characters; it can be changed later.",
  nameMissing: "Give the project a name.",
  nameLong: "The name is longer than 256 characters.",
  regionHint: "A label of your own, such as where the server stands.",
  password: "Database password",
  passwordHint:
    "For connections with psql and other tools. It is shown once; without one, only the API can be used.",
  generate: "Generate",
  isolated: "A PostgreSQL server of its own",
  isolatedHint: "Takes more memory, and shares nothing with other projects.",
  optional: (label: string) => `${label} (optional)`,
};
