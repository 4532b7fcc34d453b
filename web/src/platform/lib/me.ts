// Who the operator is, and what it may do where. The server decides; this only tells in advance (N3).

import { queryOptions, useQuery } from "@tanstack/react-query";
import * as shape from "../../lib/shape";

import { api } from "./api";

const Membership = { role: shape.string, capabilities: shape.withDefault(shape.array(shape.string), []) };

const Me = shape.object({
  user: shape.maybe(shape.object({ id: shape.string, email: shape.string, name: shape.maybe(shape.string) })),
  mfa: shape.object({
    required: shape.boolean,
    enrolled: shape.boolean,
    aal: shape.string,
    pending: shape.boolean,
  }),
  instance: shape.object({ name: shape.string }),
  role: shape.maybe(shape.string),
  capabilities: shape.withDefault(shape.array(shape.string), []),
  organizations: shape.withDefault(shape.array(shape.object({ slug: shape.string, ...Membership })), []),
  projects: shape.withDefault(shape.array(shape.object({ ref: shape.string, ...Membership })), []),
});
export type Me = shape.Infer<typeof Me>;

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => api.get("/platform/me", Me, { signal }),
  staleTime: 5 * 60_000,
});

/** Whether the operator has a capability, anywhere or on a project of an organization. */
export function hasCapability(
  me: Me,
  capability: string,
  project?: { ref: string; organization_slug: string },
) {
  if (me.capabilities.includes(capability)) return true;
  if (!project) return false;
  const organization = me.organizations.find(({ slug }) => slug === project.organization_slug);
  const own = me.projects.find(({ ref }) => ref === project.ref);
  return [organization, own].some((membership) => membership?.capabilities.includes(capability));
}

export const useMe = () => useQuery(meQuery);
