// What the console does about failed calls (src/lib/failure-handling.ts).

import type { ReactNode } from "react";

import type { Failure } from "../../lib/failure";
import { type FailureHandling, FailureHandlingContext, type Message } from "../../lib/failure-handling";
import { texts } from "../texts";
import { auth } from "./auth";

const sessionCodes = new Set([
  "session_not_found",
  "session_expired",
  "refresh_token_not_found",
  "refresh_token_already_used",
  "user_not_found",
  "bad_jwt",
  "no_authorization",
  "unauthorized",
]);

/** Fields that a code is about. */
const fieldCodes: Record<string, string> = {
  weak_password: "password",
  mfa_verification_failed: "code",
  email_address_invalid: "email",
};

/** Words of ours where they say more, else the server's: operators are helped by facts. */
export function describeFailure({ code, message }: Failure): Message {
  const text = texts.errors.codes[code] ?? (message || texts.errors.unknown);
  if (sessionCodes.has(code)) return { place: "signed-out", text };
  const field = fieldCodes[code];
  return field ? { place: "field", field, text } : { place: "banner", text };
}

const handling: FailureHandling = {
  describe: describeFailure,
  replacePage: () => false,
  endSession: ({ code }) => {
    // The guard of the shell then leads to the sign-in page.
    if (sessionCodes.has(code)) void auth.signOut({ scope: "local" });
  },
};

export function ConsoleFailures({ children }: { children: ReactNode }) {
  return <FailureHandlingContext value={handling}>{children}</FailureHandlingContext>;
}
