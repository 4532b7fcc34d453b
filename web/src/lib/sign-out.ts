// Ending the session from these pages.

import { auth } from "./auth-client";
import { errorText } from "./error-text";
import { type Failure, settle } from "./failure";
import { leaveTo, takeDestination } from "./leaving";

/** This device, or all of them; leads to a page that says so. */
export async function signOut(scope: "local" | "global" = "local") {
  leaveTo("/signed-out");
  try {
    await settle(auth.signOut({ scope }));
  } catch (error) {
    // Still signed in, so this is no way out.
    takeDestination();
    throw error;
  }
}

/** The server knows no such session any more: neither do we, and the guard leads to the sign-in page. */
export function endIfSignedOut(failure: Failure) {
  if (errorText(failure).place === "signed-out") void auth.signOut({ scope: "local" });
}
