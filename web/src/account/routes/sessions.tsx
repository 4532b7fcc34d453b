import { useQuery, useQueryClient } from "@tanstack/react-query";

import { Button } from "../../components/button";
import { Card, rowsClass } from "../../components/card";
import { Notice } from "../../components/notice";
import { EmptyState, LoadError, Skeleton } from "../../components/states";
import { toast } from "../../components/toast";
import { type DeviceSession, listSessions, sessionsKey } from "../../features/sessions/api";
import { SessionRow } from "../../features/sessions/session-row";
import { useStepUp } from "../../features/step-up/step-up";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { settle } from "../../lib/failure";
import { signOut } from "../../lib/sign-out";
import { useAction } from "../../lib/use-action";
import { AccountPage } from "../account-layout";

export function Sessions() {
  const guarded = useStepUp();
  const sessions = useQuery({
    queryKey: sessionsKey,
    queryFn: ({ signal }) => guarded(() => listSessions(signal)),
  });
  return (
    <AccountPage title="Devices" lead="Where you are signed in right now." hasError={sessions.isError}>
      <List sessions={sessions} />
    </AccountPage>
  );
}

function List({ sessions }: { sessions: ReturnType<typeof useQuery<DeviceSession[]>> }) {
  const guarded = useStepUp();
  if (sessions.isPending) return <Skeleton label="Loading your devices" lines={6} />;
  if (sessions.isError) return <LoadError error={sessions.error} onRetry={sessions.refetch} />;
  const hasOthers = sessions.data.length > 1;
  return (
    <>
      <Card>
        <ul aria-label="Devices" className={rowsClass}>
          {sessions.data.map((session) => (
            <SessionRow key={session.id} session={session} guarded={guarded} />
          ))}
        </ul>
      </Card>
      {hasOthers ? (
        <Everywhere />
      ) : (
        <EmptyState title="You're only signed in here.">
          <p className="text-sm text-soft">Other devices appear in this list when you sign in on them.</p>
        </EmptyState>
      )}
    </>
  );
}

function Everywhere() {
  const cache = useQueryClient();
  const others = useAction(async () => {
    await settle(auth.signOut({ scope: "others" }));
    await cache.invalidateQueries({ queryKey: sessionsKey });
    toast("Your other devices were signed out.");
  });
  const all = useAction(() => signOut("global"));
  const failure = others.failure ?? all.failure;
  return (
    <Card
      title="Sign out of several at once"
      lead="Do this when you lost a device, or used one that isn't yours."
    >
      {failure && (
        <Notice tone="danger" role="alert">
          {errorText(failure).text}
        </Notice>
      )}
      <div className="flex flex-wrap gap-3">
        <Button
          variant="secondary"
          isBusy={others.isBusy}
          busyLabel="Signing out…"
          onClick={() => void others.run()}
        >
          Sign out other devices
        </Button>
        <Button
          variant="secondary"
          isBusy={all.isBusy}
          busyLabel="Signing out…"
          onClick={() => void all.run()}
        >
          Sign out everywhere
        </Button>
      </div>
    </Card>
  );
}
