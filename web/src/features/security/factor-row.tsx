import type { Factor } from "@supabase/auth-js";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { Button } from "../../components/button";
import { Badge, Row } from "../../components/card";
import { ConfirmDialog } from "../../components/confirm-dialog";
import { Time } from "../../components/time";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { done, toFailure } from "../../lib/failure";
import { userQuery } from "../../lib/user";
import * as texts from "../../texts";
import { kindOf } from "./kinds";

type Props = {
  factor: Factor;
  isLast: boolean;
  /** Beside the button that removes it. */
  action?: ReactNode;
  guarded: <T>(call: () => Promise<T>) => Promise<T>;
};

export function FactorRow({ factor, isLast, action, guarded }: Props) {
  const cache = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const { text, icon: Icon } = kindOf(factor.factor_type);
  const name = factor.friendly_name || text;
  const isVerified = factor.status === "verified";
  const remove = async () => {
    let said: string = texts.security.removed(name);
    try {
      await guarded(() => done(auth.mfa.unenroll({ factorId: factor.id })));
    } catch (error) {
      // Somebody else was faster; the list is read again either way.
      const failure = toFailure(error);
      if (failure.code !== "mfa_factor_not_found") throw failure;
      said = errorText(failure).text;
    }
    // The level in the token follows what is set up.
    await auth.refreshSession();
    await cache.invalidateQueries(userQuery);
    toast(said);
  };
  return (
    <Row
      icon={<Icon className="size-5" />}
      title={
        <>
          {name}
          {!isVerified && <Badge tone="warn">{texts.security.isUnfinished}</Badge>}
        </>
      }
      details={
        <>
          {text} · {texts.security.added(<Time at={factor.created_at} form="day" />)}
          {factor.last_challenged_at && (
            <> · {texts.security.used(<Time at={factor.last_challenged_at} />)}</>
          )}
        </>
      }
      action={
        <div className="flex flex-wrap gap-2">
          {action}
          <Button
            variant="secondary"
            size="sm"
            aria-label={texts.security.removeOf(name)}
            onClick={() => setAsking(true)}
          >
            {texts.security.remove}
          </Button>
          {isAsking && (
            <ConfirmDialog
              title={texts.security.removeTitle(name)}
              action={texts.security.remove}
              busyLabel={texts.security.removing}
              onConfirm={remove}
              onClose={() => setAsking(false)}
            >
              <p>{texts.security.removeText}</p>
              {isVerified && isLast && <p>{texts.security.removeLast}</p>}
            </ConfirmDialog>
          )}
        </div>
      }
    />
  );
}
