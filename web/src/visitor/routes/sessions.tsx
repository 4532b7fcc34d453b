import { useQuery, useQueryClient } from "@tanstack/react-query";

import { Button } from "../../components/button";
import { Card, rowsClass } from "../../components/card";
import { Notice } from "../../components/notice";
import { CardSkeleton, EmptyState, LoadError } from "../../components/states";
import { toast } from "../components/toast";
import { type DeviceSession, listSessions, sessionsKey } from "../features/sessions/api";
import { SessionRow } from "../features/sessions/session-row";
import { useStepUp } from "../features/step-up/step-up";
import { auth } from "../lib/auth-client";
import { errorText } from "../lib/error-text";
import { throwOnError } from "../../lib/failure";
import { signOut } from "../lib/sign-out";
import { useAction } from "../../lib/use-action";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

export function Sessions() {
  const withStepUp = useStepUp();
  const sessions = useQuery({
    queryKey: sessionsKey,
    queryFn: ({ signal }) => withStepUp(() => listSessions(signal)),
  });
  return (
    <AccountPage title={texts.sessions.title} lead={texts.sessions.lead} hasError={sessions.isError}>
      <SessionList sessions={sessions} />
    </AccountPage>
  );
}

function SessionList({ sessions }: { sessions: ReturnType<typeof useQuery<DeviceSession[]>> }) {
  const withStepUp = useStepUp();
  if (sessions.isPending) return <CardSkeleton label={texts.sessions.loading} />;
  if (sessions.isError) return <LoadError error={sessions.error} onRetry={sessions.refetch} />;
  const hasOthers = sessions.data.length > 1;
  return (
    <>
      <Card>
        <ul aria-label={texts.sessions.title} className={rowsClass}>
          {sessions.data.map((session) => (
            <SessionRow key={session.id} session={session} withStepUp={withStepUp} />
          ))}
        </ul>
      </Card>
      {hasOthers ? (
        <BulkSignOut />
      ) : (
        <EmptyState title={texts.sessions.onlyHere}>
          <p className="text-sm text-soft">{texts.sessions.onlyHereLead}</p>
        </EmptyState>
      )}
    </>
  );
}

function BulkSignOut() {
  const queryClient = useQueryClient();
  const withStepUp = useStepUp();
  const others = useAction(async () => {
    await withStepUp(() => throwOnError(auth.signOut({ scope: "others" })));
    await queryClient.invalidateQueries({ queryKey: sessionsKey });
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
