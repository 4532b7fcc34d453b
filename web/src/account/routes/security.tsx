import type { Factor, User } from "@supabase/auth-js";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { Button, buttonClass } from "../../components/button";
import { Card, rowsClass } from "../../components/card";
import { Dialog } from "../../components/dialog";
import { Notice } from "../../components/notice";
import { EmptyState, LoadError, Skeleton } from "../../components/states";
import { toast } from "../../components/toast";
import { AddSecurityKey } from "../../features/security/add-security-key";
import { FactorRow } from "../../features/security/factor-row";
import { Passkeys } from "../../features/security/passkeys";
import { AppCode } from "../../features/step-up/app-code";
import { SecurityKey } from "../../features/step-up/challenge";
import { PhoneCode } from "../../features/step-up/phone-code";
import { useStepUp } from "../../features/step-up/step-up";
import { settings } from "../../lib/settings";
import { useMethods } from "../../lib/use-methods";
import { userQuery } from "../../lib/user";
import { AccountPage } from "../account-layout";

export function Security() {
  const user = useQuery(userQuery);
  const { methods } = useMethods();
  const guarded = useStepUp();
  return (
    <AccountPage
      title="Two-step verification"
      lead="A second step when you sign in protects your account even if somebody learns your password."
      hasError={user.isError}
    >
      <Factors query={user} />
      {methods?.passkeys_enabled && "PublicKeyCredential" in window && <Passkeys guarded={guarded} />}
    </AccountPage>
  );
}

function Factors({ query }: { query: ReturnType<typeof useQuery<User>> }) {
  const guarded = useStepUp();
  if (query.isPending) return <Skeleton label="Loading your second steps" />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const factors = query.data.factors ?? [];
  const verified = factors.filter(({ status }) => status === "verified");
  const unfinished = factors.filter(({ status }) => status !== "verified");
  return (
    <>
      {verified.length === 0 ? (
        <EmptyState title="You have no second step yet.">
          <p className="max-w-prose text-soft">
            With an authenticator app on your phone, signing in takes your password and a code that changes
            every 30 seconds. Nobody gets in with the password alone.
          </p>
          <Add isFirst />
        </EmptyState>
      ) : (
        <Card title="Your second steps">
          {verified.length === 1 && (
            <Notice tone="info">You have one second step. Add another, in case you lose it.</Notice>
          )}
          <ul aria-label="Second steps" className={rowsClass}>
            {verified.map((factor) => (
              <FactorRow key={factor.id} factor={factor} isLast={verified.length === 1} guarded={guarded} />
            ))}
          </ul>
          <Add isFirst={false} />
        </Card>
      )}
      {unfinished.length > 0 && (
        <Card title="Unfinished set-up" lead="These don't protect you yet.">
          <ul aria-label="Unfinished set-up" className={rowsClass}>
            {unfinished.map((factor) => (
              <FactorRow
                key={factor.id}
                factor={factor}
                isLast={false}
                guarded={guarded}
                action={<Finish factor={factor} />}
              />
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

function Add({ isFirst }: { isFirst: boolean }) {
  const guarded = useStepUp();
  const { totp, phone, webAuthn } = settings.mfa;
  if (!totp && !phone && !webAuthn) return <p className="text-sm text-soft">This method is turned off.</p>;
  return (
    <div className="flex flex-wrap gap-3">
      {totp && (
        <Link href="/account/security/totp/new" className={buttonClass(isFirst ? "primary" : "secondary")}>
          Set up an authenticator app
        </Link>
      )}
      {phone && (
        <Link href="/account/security/phone/new" className={buttonClass("secondary")}>
          Add a phone
        </Link>
      )}
      {webAuthn && "PublicKeyCredential" in window && <AddSecurityKey guarded={guarded} />}
    </div>
  );
}

/** Everything is prepared: only the first proof is missing. */
function Finish({ factor }: { factor: Factor }) {
  const cache = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const name = factor.friendly_name || "the app";
  const finish = () => {
    setOpen(false);
    void cache.invalidateQueries(userQuery);
    toast("Two-step verification is on.");
  };
  return (
    <>
      <Button
        variant="secondary"
        size="sm"
        aria-label={`Finish setting up ${name}`}
        onClick={() => setOpen(true)}
      >
        Finish
      </Button>
      {isOpen && (
        <Dialog title="Finish setting up" onClose={() => setOpen(false)}>
          {factor.factor_type === "phone" && <PhoneCode factor={factor} onDone={finish} />}
          {factor.factor_type === "webauthn" && <SecurityKey factor={factor} onDone={finish} />}
          {factor.factor_type === "totp" && (
            <>
              <p className="text-soft">
                Type the code that your app shows. If you never scanned the picture, remove this entry and
                start again.
              </p>
              <AppCode factor={factor} submitLabel="Finish" onDone={finish} />
            </>
          )}
        </Dialog>
      )}
    </>
  );
}
