// Route guards (client contract U2). The server has checked the first request; these follow later changes.

import { type ReactNode, useEffect, useRef } from "react";
import { useLocation, useSearch } from "wouter";

import { toast } from "./components/toast";
import { useNavigation } from "./lib/navigation";
import { withNext } from "../lib/next-param";
import {
  isAnonymousUpgrade,
  isRecovering,
  needsSecondFactor,
  lastAuthEvent,
  useSession,
} from "./lib/session";
import { settings } from "./lib/settings";
import { takeSignOutRedirect } from "./lib/sign-out-redirect";
import { texts } from "./texts";
import { AccountSkeleton } from "./account-skeleton";
import { GuestSkeleton } from "./guest-layout";

type Props = { children: ReactNode };

/** Redirects signed-in users. Anonymous users may still sign up or in. */
export function RequireGuest({ children }: Props) {
  const session = useSession();
  const nav = useNavigation();
  const search = useSearch();
  const isSignedIn = !!session && !session.user.is_anonymous;
  const previous = useRef(session);

  // Redirect on session changes, which may come from another tab.
  useEffect(() => {
    const isUpgraded = !!session && isAnonymousUpgrade(previous.current, session);
    previous.current = session;
    if (!session || session.user.is_anonymous) return;
    if (isUpgraded) return nav.toFirstPassword();
    if (isRecovering(session)) return nav.replace("/reset-password");
    if (needsSecondFactor(session)) return nav.replace(withNext("/sign-in/mfa", search));
    if (["SIGNED_IN", "PASSWORD_RECOVERY"].includes(lastAuthEvent())) toast(texts.guestLayout.signedIn);
    nav.toNext();
    // Once per access token.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session?.access_token]);

  return session === undefined || isSignedIn ? <GuestSkeleton /> : children;
}

/** Redirects users without a session, or whose second factor is not verified yet. */
export function RequireSession({ children }: Props) {
  const session = useSession();
  const nav = useNavigation();
  const [path] = useLocation();
  const isAllowed = !!session && !isRecovering(session) && !needsSecondFactor(session);

  useEffect(() => {
    if (session === undefined || isAllowed) return;
    const next = encodeURIComponent(settings.mount + path + window.location.search);
    if (session && isRecovering(session)) nav.replace("/reset-password");
    else if (session) nav.replace(`/sign-in/mfa?next=${next}`);
    else {
      const reason = lastAuthEvent() === "SIGNED_OUT" ? "&reason=expired" : "";
      nav.replace(takeSignOutRedirect() ?? `/sign-in?next=${next}${reason}`);
    }
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session === undefined, isAllowed]);

  if (isAllowed) return children;
  // Usually the session is still being read: the server has redirected guests.
  return session === undefined ? <AccountSkeleton /> : <GuestSkeleton />;
}
