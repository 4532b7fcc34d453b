import type { Factor } from "@supabase/auth-js";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { Button } from "../../../components/button";
import { Badge, Row } from "../../../components/card";
import { ConfirmDialog } from "../../components/confirm-dialog";
import { Time } from "../../../components/time";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { unwrap, toFailure } from "../../../lib/failure";
import { userQuery } from "../../lib/user";
import { texts } from "../../texts";
import { factorType } from "./factor-types";

type Props = {
  factor: Factor;
  isLast: boolean;
  /** Shown beside the remove button. */
  action?: ReactNode;
  withStepUp: <T>(call: () => Promise<T>) => Promise<T>;
};

export function FactorRow({ factor, isLast, action, withStepUp }: Props) {
  const queryClient = useQueryClient();
  const [isConfirming, setConfirming] = useState(false);
  const { text, icon: Icon } = factorType(factor.factor_type);
  const name = factor.friendly_name || text;
  const isVerified = factor.status === "verified";
  const remove = async () => {
    let message: string = texts.security.removed(name);
    try {
      await withStepUp(() => unwrap(auth.mfa.unenroll({ factorId: factor.id })));
    } catch (error) {
      // Already removed elsewhere; the list is reloaded either way.
      const failure = toFailure(error);
      if (failure.code !== "mfa_factor_not_found") throw failure;
      message = errorText(failure).text;
    }
    // The token's AAL depends on the enrolled factors.
    await auth.refreshSession();
    await queryClient.invalidateQueries(userQuery);
    toast(message);
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
            onClick={() => setConfirming(true)}
          >
            {texts.security.remove}
          </Button>
          {isConfirming && (
            <ConfirmDialog
              title={texts.security.removeTitle(name)}
              action={texts.security.remove}
              busyLabel={texts.security.removing}
              onConfirm={remove}
              onClose={() => setConfirming(false)}
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
