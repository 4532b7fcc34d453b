// The user from the server; the copy in the session may be stale.

import { queryOptions } from "@tanstack/react-query";

import { auth } from "./auth-client";
import { unwrap } from "../../lib/failure";

export const userQuery = queryOptions({
  queryKey: ["user"],
  queryFn: async () => (await unwrap(auth.getUser())).user,
});
