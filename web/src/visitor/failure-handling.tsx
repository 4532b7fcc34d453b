// What the account pages do about failed calls (lib/failure-handling.ts).

import type { ReactNode } from "react";

import { FailureHandlingContext } from "../lib/failure-handling";
import { useBannedHandler } from "./lib/banned";
import { errorText, type Screen } from "./lib/error-text";
import { signOutOnSessionError } from "./lib/sign-out";

/** Below the `BannedContext`, whose page it shows. */
export function AccountFailures({ children }: { children: ReactNode }) {
  const replacePage = useBannedHandler();
  return (
    <FailureHandlingContext
      value={{
        describe: (failure, screen) => errorText(failure, screen as Screen | undefined),
        replacePage,
        endSession: signOutOnSessionError,
      }}
    >
      {children}
    </FailureHandlingContext>
  );
}
