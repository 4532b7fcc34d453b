// Lets operators in, and leads everybody else to where they become one: set-up, sign-in, second factor (N1, N20,
// N21). The server decides every request; this only spares people errors.

import { useQuery } from "@tanstack/react-query";
import { Navigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useEffect } from "react";

import { Button } from "../../components/button";
import { Bone, ErrorState, Loading } from "../../components/data-states";
import { toFailure } from "../../lib/failure";
import { needsSecondFactor } from "../../lib/session-store";
import { setupQuery } from "../features/setup/api";
import { auth, goToAccountPage, useSession } from "../lib/auth";
import { useMe } from "../lib/me";
import { connectPreferences } from "../lib/preferences";
import { texts } from "../texts";
import { signOut } from "./profile-menu";
import { PlainPage } from "./screen";

const EnrolFactor = lazy(() => import("../features/setup/enrol-factor"));

type Props = { children: ReactNode };

export function RequireOperator({ children }: Props) {
  const session = useSession();
  if (session === undefined) return <FrameSkeleton />;
  if (session === null) return <LeadToSignIn />;
  if (needsSecondFactor(session)) return <Leave path="/sign-in/mfa" />;
  return <RequireMembership>{children}</RequireMembership>;
}

/** With no owner yet, every path leads to the set-up. */
function LeadToSignIn() {
  const setup = useQuery(setupQuery);
  if (setup.isPending) return <FrameSkeleton />;
  if (setup.data?.needed) return <Navigate to="/setup" replace />;
  return <Leave path="/sign-in" />;
}

function Leave({ path }: { path: string }) {
  useEffect(() => goToAccountPage(path), [path]);
  return <FrameSkeleton />;
}

function RequireMembership({ children }: Props) {
  const session = useSession();
  const me = useMe();
  const metadata = session?.user.user_metadata;

  useEffect(() => {
    connectPreferences(metadata, (preferences) => {
      void auth.updateUser({ data: { console: preferences } });
    });
    // Once per user: later changes come from here.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session?.user.id]);

  if (me.data?.mfa.pending) {
    return (
      <Suspense fallback={<FrameSkeleton />}>
        <EnrolFactor onDone={() => void me.refetch()} />
      </Suspense>
    );
  }
  if (me.data) return children;
  if (me.isPending) return <FrameSkeleton />;
  const { code } = toFailure(me.error);
  if (["forbidden", "not_operator", "not_an_operator"].includes(code)) {
    return (
      <PlainPage
        title={texts.shell.forbiddenTitle}
        lead={texts.shell.forbiddenText(session?.user.email ?? "")}
      >
        <div>
          <Button variant="secondary" onClick={() => void signOut()}>
            {texts.shell.signOut}
          </Button>
        </div>
      </PlainPage>
    );
  }
  return (
    <PlainPage title={texts.shell.notLoadedTitle}>
      <ErrorState title={texts.shell.checkingSession} error={me.error} onRetry={me.refetch} />
    </PlainPage>
  );
}

/** The frame before it is known who looks at it. */
export function FrameSkeleton() {
  return (
    <Loading label={texts.shell.checkingSession}>
      <div className="flex h-11 items-center gap-4 border-b border-line px-3">
        <Bone className="size-5" />
        <Bone className="h-4 w-32" />
        <Bone className="ms-auto h-7 w-56 max-lg:hidden" />
        <Bone className="size-7 rounded-full!" />
      </div>
    </Loading>
  );
}
