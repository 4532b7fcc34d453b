// Jobs: long work and its progress (N5).

import { queryOptions } from "@tanstack/react-query";
import * as shape from "../../../lib/shape";

import { anything, api, segment } from "../../lib/api";
import { texts } from "../../texts";

const Job = shape.object({
  id: shape.string,
  kind: shape.string,
  project: shape.maybe(shape.string),
  state: shape.oneOf("queued", "running", "succeeded", "failed", "cancelled"),
  progress: shape.object({ done: shape.number, total: shape.number, unit: shape.string }),
  message: shape.maybe(shape.string),
  error: shape.maybe(shape.string),
  created_at: shape.string,
  finished_at: shape.maybe(shape.string),
});
export type Job = shape.Infer<typeof Job>;

export const jobsQuery = queryOptions({
  queryKey: ["jobs"],
  queryFn: ({ signal }) => api.get("/platform/jobs", shape.array(Job), { signal }),
});

export const isActive = ({ state }: Job) => state === "queued" || state === "running";

export const cancelJob = (id: string) => api.post(`/platform/jobs/${segment(id)}/cancel`, anything);

/** The name of a kind of jobs, also of kinds that are newer than this console. */
export const kindText = (kind: string) => texts.jobs.kinds[kind] ?? kind.replaceAll("_", " ");
