// A project's API keys. Secret ones arrive masked (N2).

import { queryOptions } from "@tanstack/react-query";
import * as shape from "../../lib/shape";

import { settings } from "../settings";
import { api, segment } from "./api";

const ApiKey = shape.object({
  id: shape.maybe(shape.string),
  name: shape.string,
  type: shape.maybe(shape.string),
  api_key: shape.string,
});
export type ApiKey = shape.Infer<typeof ApiKey>;

export const apiKeysQuery = (ref: string) =>
  queryOptions({
    queryKey: ["project", ref, "api-keys"],
    queryFn: ({ signal }) =>
      api.get(`/v1/projects/${segment(ref)}/api-keys`, shape.array(ApiKey), { signal }),
  });

/** The key of a kind, preferring the newer form to the legacy JWT. */
export function findKey(keys: readonly ApiKey[], kind: "publishable" | "secret"): ApiKey | undefined {
  const legacy = kind === "publishable" ? "anon" : "service_role";
  return keys.find(({ type }) => type === kind) ?? keys.find(({ name }) => name === legacy);
}

/** The base URL of a project's services. */
export const projectUrl = (ref: string) =>
  new URL(`${settings.apiUrl}/p/${ref}`, globalThis.location?.origin).href;
