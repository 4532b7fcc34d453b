// Search in a project, for the command palette.

import { queryOptions } from "@tanstack/react-query";
import * as shape from "../../lib/shape";

import { api, segment } from "./api";

const Results = shape.object({
  results: shape.array(
    shape.object({
      kind: shape.string,
      id: shape.string,
      name: shape.string,
      schema: shape.maybe(shape.string),
      detail: shape.maybe(shape.string),
    }),
  ),
});

export const searchQuery = (ref: string, query: string) =>
  queryOptions({
    queryKey: ["project", ref, "search", query],
    queryFn: ({ signal }) =>
      api.get(`/platform/projects/${segment(ref)}/search?q=${encodeURIComponent(query)}`, Results, {
        signal,
      }),
    placeholderData: (previous) => previous,
    retry: false,
  });
