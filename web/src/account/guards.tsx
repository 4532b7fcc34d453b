// Who may see a page (client contract U2). The server has looked already; this follows changes.

import { type ReactNode, useEffect, useRef } from "react";
import { useLocation, useSearch } from "wouter";

import { toast } from "../components/toast";
import { takeDestination } from "../lib/leaving";
import { useGo } from "../lib/navigation";
import { keepNext } from "../lib/next";
import { hasGotName, isRecovering, needsSecondStep, sessionEvent, useSession } from "../lib/session";
import { settings } from "../lib/settings";
import * as texts from "../texts";
import { GuestSkeleton } from "./guest-layout";

type Props = { children: ReactNode };

/** For those who are not signed in. Somebody without a name may still sign up or in. */
export function Guest({ children }: Props) {
  const session = useSession();
  const go = useGo();
  const search = useSearch();
  const isIn = !!session && !session.user.is_anonymous;
  const before = useRef(session);

  // Leaving a page is outside React; another tab may be the reason.
  useEffect(() => {
    const isNamed = !!session && hasGotName(before.current, session);
    before.current = session;
    if (!session || session.user.is_anonymous) return;
    if (isNamed) return go.toFirstPassword();
    if (isRecovering(session)) return go.replace("/reset-password");
    if (needsSecondStep(session)) return go.replace(keepNext("/sign-in/mfa", search));
    if (["SIGNED_IN", "PASSWORD_RECOVERY"].includes(sessionEvent())) toast(texts.guestFrame.signedIn);
    go.onwards();
    // Once per session, whatever else changes meanwhile.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session?.access_token]);

  return session === undefined || isIn ? <GuestSkeleton /> : children;
}

/** For those who are signed in, with their second step if they have one. */
export function Member({ children }: Props) {
  const session = useSession();
  const go = useGo();
  const [path] = useLocation();
  const isOpen = !!session && !isRecovering(session) && !needsSecondStep(session);

  // As above.
  useEffect(() => {
    if (session === undefined || isOpen) return;
    const next = encodeURIComponent(settings.mount + path + window.location.search);
    if (session && isRecovering(session)) go.replace("/reset-password");
    else if (session) go.replace(`/sign-in/mfa?next=${next}`);
    else {
      const reason = sessionEvent() === "SIGNED_OUT" ? "&reason=expired" : "";
      go.replace(takeDestination() ?? `/sign-in?next=${next}${reason}`);
    }
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session === undefined, isOpen]);

  return isOpen ? children : <GuestSkeleton />;
}
