import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";

import { BannedContext } from "./lib/banned";
import { errorText } from "./lib/error-text";
import { Failure } from "../lib/failure";
import { useSession } from "./lib/session";
import { settings } from "./lib/settings";
import { texts } from "./texts";
import { AccountFailures } from "./failure-handling";
import { GuestPage } from "./guest-layout";
import { SignOutButton } from "./sign-out-button";

/** Replaces the page if a call fails with `user_banned`. Navigation resets it. */
export function BannedBoundary({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const [state, setState] = useState({ location, isBanned: false });
  if (state.location !== location) setState({ location, isBanned: false });
  return (
    <BannedContext value={() => setState({ location, isBanned: true })}>
      <AccountFailures>{state.isBanned ? <SuspendedPage /> : children}</AccountFailures>
    </BannedContext>
  );
}

export function SuspendedPage() {
  const session = useSession();
  return (
    <GuestPage title={texts.signIn.suspended} hasError footer={session && <SignOutButton />}>
      <p>{errorText(new Failure("user_banned", "")).text}</p>
      {settings.supportUrl && (
        <p>
          <a className="font-medium underline underline-offset-4" href={settings.supportUrl}>
            {texts.common.contactSupport}
          </a>
        </p>
      )}
    </GuestPage>
  );
}
