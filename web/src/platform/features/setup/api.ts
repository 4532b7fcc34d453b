// The first owner of an installation (N20).

import { queryOptions } from "@tanstack/react-query";
import * as shape from "../../../lib/shape";

import { api } from "../../lib/api";

const SetupState = shape.object({
  needed: shape.boolean,
  instance: shape.string,
  mfa_required: shape.boolean,
});

export const setupQuery = queryOptions({
  queryKey: ["setup"],
  queryFn: ({ signal }) => api.open("GET", "/platform/setup", SetupState, undefined, signal),
  staleTime: 0,
});

const Created = shape.object({ user_id: shape.string, email: shape.string, mfa_required: shape.boolean });

export type Owner = { token: string; email: string; password: string; instance: string };

export const createOwner = (owner: Owner) => api.open("POST", "/platform/setup", Created, owner);
