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
import * as texts from "../../texts";
import { AccountPage } from "../account-layout";

export function Sessions() {
  const guarded = useStepUp();
  const sessions = useQuery({
    queryKey: sessionsKey,
    queryFn: ({ signal }) => guarded(() => listSessions(signal)),
  });
  return (
    <AccountPage title={texts.sessions.title} lead={texts.sessions.lead} hasError={sessions.isError}>
      <List sessions={sessions} />
    </AccountPage>
  );
}

function List({ sessions }: { sessions: ReturnType<typeof useQuery<DeviceSession[]>> }) {
  const guarded = useStepUp();
  if (sessions.isPending) return <Skeleton label={texts.sessions.loading} lines={6} />;
  if (sessions.isError) return <LoadError error={sessions.error} onRetry={sessions.refetch} />;
  const hasOthers = sessions.data.length > 1;
  return (
    <>
      <Card>
        <ul aria-label={texts.sessions.title} className={rowsClass}>
          {sessions.data.map((session) => (
            <SessionRow key={session.id} session={session} guarded={guarded} />
          ))}
        </ul>
      </Card>
      {hasOthers ? (
        <Everywhere />
      ) : (
        <EmptyState title={texts.sessions.onlyHere}>
          <p className="text-sm text-soft">{texts.sessions.onlyHereLead}</p>
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
    toast(texts.sessions.othersSignedOut);
  });
  const all = useAction(() => signOut("global"));
  const failure = others.failure ?? all.failure;
  return (
    <Card title={texts.sessions.several} lead={texts.sessions.severalLead}>
      {failure && (
        <Notice tone="danger" role="alert">
          {errorText(failure).text}
        </Notice>
      )}
      <div className="flex flex-wrap gap-3">
        <Button
          variant="secondary"
          isBusy={others.isBusy}
          busyLabel={texts.common.signingOut}
          onClick={() => void others.run()}
        >
          {texts.sessions.signOutOthers}
        </Button>
        <Button
          variant="secondary"
          isBusy={all.isBusy}
          busyLabel={texts.common.signingOut}
          onClick={() => void all.run()}
        >
          {texts.sessions.signOutEverywhere}
        </Button>
      </div>
    </Card>
  );
}
