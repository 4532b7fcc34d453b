// Projects: the list of the Management API, and the figures beside it.

import { queryOptions } from "@tanstack/react-query";
import * as shape from "../../../lib/shape";

import { api, segment } from "../../lib/api";

const Project = shape.object({
  ref: shape.string,
  name: shape.string,
  organization_slug: shape.withDefault(shape.string, ""),
  region: shape.withDefault(shape.maybe(shape.string), ""),
  created_at: shape.string,
  status: shape.string,
  parent_project_ref: shape.maybe(shape.string),
  isolated: shape.withDefault(shape.boolean, false),
  database: shape.maybe(shape.object({ host: shape.string, version: shape.string })),
});
export type Project = shape.Infer<typeof Project>;

const Summary = shape.object({
  ref: shape.string,
  branches: shape.withDefault(shape.number, 0),
  database_bytes: shape.maybe(shape.number),
  /** One number per hour, the oldest first. */
  requests_24h: shape.withDefault(shape.array(shape.number), []),
  last_activity: shape.maybe(shape.string),
  members: shape.maybe(shape.number),
  tags: shape.withDefault(shape.array(shape.string), []),
});
export type ProjectSummary = shape.Infer<typeof Summary>;

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: ({ signal }) => api.get("/v1/projects", shape.array(Project), { signal }),
});

/** Slower than the list, so the list does not wait for it. */
export const summariesQuery = queryOptions({
  queryKey: ["projects", "summary"],
  queryFn: ({ signal }) => api.get("/platform/projects/summary", shape.array(Summary), { signal }),
});

const Branch = shape.object({
  id: shape.string,
  name: shape.string,
  project_ref: shape.string,
  parent_project_ref: shape.string,
  is_default: shape.boolean,
});
export type Branch = shape.Infer<typeof Branch>;

export const branchesQuery = (ref: string) =>
  queryOptions({
    queryKey: ["project", ref, "branches"],
    queryFn: ({ signal }) =>
      api.get(`/v1/projects/${segment(ref)}/branches`, shape.array(Branch), { signal }),
  });

export type NewProject = {
  name: string;
  region?: string;
  db_pass?: string;
  isolated?: boolean;
  organization_slug?: string;
};

export const createProject = (project: NewProject) => api.post("/v1/projects", Project, project);

export const restoreProject = (ref: string) =>
  api.post(`/v1/projects/${segment(ref)}/restore`, shape.unknown, {});
