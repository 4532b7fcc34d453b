import { useQueryClient } from "@tanstack/react-query";
import { Laptop, Smartphone } from "lucide-react";

import { Button } from "../../../components/button";
import { Badge, Row } from "../../../components/card";
import { Time } from "../../../components/time";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { deviceName, isHandheld } from "../../lib/device-name";
import { errorText } from "../../lib/error-text";
import { setSignOutRedirect } from "../../lib/sign-out-redirect";
import { useAction } from "../../../lib/use-action";
import { texts } from "../../texts";
import { type DeviceSession, endSession, sessionsKey } from "./api";

type Props = {
  session: DeviceSession;
  /** Runs a call that may require step-up authentication. */
  withStepUp: <T>(call: () => Promise<T>) => Promise<T>;
};

export function SessionRow({ session, withStepUp }: Props) {
  const queryClient = useQueryClient();
  const name = deviceName(session.user_agent);
  const { run, isBusy, failure } = useAction(async () => {
    await withStepUp(() => endSession(session.id));
    if (session.current) {
      setSignOutRedirect("/sign-in?reason=revoked");
      await auth.signOut({ scope: "local" });
      return;
    }
    await queryClient.invalidateQueries({ queryKey: sessionsKey });
    toast(texts.sessions.signedOut(name));
  });
  const Icon = isHandheld(session.user_agent) ? Smartphone : Laptop;
  return (
    <Row
      icon={<Icon className="size-5" />}
      title={
        <>
          {name}
          {session.current && <Badge tone="good">{texts.sessions.thisDevice}</Badge>}
        </>
      }
      details={
        <>
          <p>
            {texts.sessions.active(<Time at={session.refreshed_at ?? session.created_at} />)}
            {session.ip && ` · ${session.ip}`}
          </p>
          {session.user_agent && (
            <details>
              <summary className="inline-block py-1 underline decoration-line-strong underline-offset-4">
                {texts.sessions.details(name, (text) => (
                  <span className="sr-only">{text}</span>
                ))}
              </summary>
              <p>{texts.sessions.signedIn(<Time at={session.created_at} form="exact" />)}</p>
              <p className="font-mono text-xs">{session.user_agent}</p>
            </details>
          )}
          {failure && (
            <p role="alert" className="font-medium text-danger">
              {errorText(failure).text}
            </p>
          )}
        </>
      }
      action={
        <Button
          variant="secondary"
          size="sm"
          isBusy={isBusy}
          busyLabel={texts.common.signingOut}
          aria-label={isBusy ? undefined : texts.sessions.signOutOf(name)}
          onClick={() => void run()}
        >
          {texts.common.signOut}
        </Button>
      }
    />
  );
}
