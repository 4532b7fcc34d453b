import { auth } from "./auth-client";
import { errorText } from "./error-text";
import { type Failure, throwOnError } from "../../lib/failure";
import { setSignOutRedirect, takeSignOutRedirect } from "./sign-out-redirect";

/** Signs out this device or all of them, and redirects to `/signed-out`. */
export async function signOut(scope: "local" | "global" = "local") {
  setSignOutRedirect("/signed-out");
  try {
    await throwOnError(auth.signOut({ scope }));
  } catch (error) {
    // Still signed in.
    takeSignOutRedirect();
    throw error;
  }
}

/** Clears the local session if the server no longer accepts it; the route guard then redirects to sign-in. */
export function signOutOnSessionError(failure: Failure) {
  if (errorText(failure).place === "signed-out") void auth.signOut({ scope: "local" });
}
