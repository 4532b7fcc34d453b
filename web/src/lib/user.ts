// The signed-in user as the server knows them; the session's copy may be older.

import { queryOptions } from "@tanstack/react-query";

import { auth } from "./auth-client";
import { done } from "./failure";

export const userQuery = queryOptions({
  queryKey: ["user"],
  queryFn: async () => (await done(auth.getUser())).user,
});
