import type { Factor, User } from "@supabase/auth-js";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { Button, buttonClass } from "../../components/button";
import { Card, rowsClass } from "../../components/card";
import { Dialog } from "../components/dialog";
import { Notice } from "../../components/notice";
import { CardSkeleton, EmptyState, LoadError } from "../../components/states";
import { toast } from "../components/toast";
import { AddSecurityKey } from "../features/security/add-security-key";
import { FactorRow } from "../features/security/factor-row";
import { Passkeys } from "../features/security/passkeys";
import { SecurityKey } from "../features/step-up/challenge";
import { PhoneCode } from "../features/step-up/phone-code";
import { useStepUp } from "../features/step-up/step-up";
import { TotpCode } from "../features/step-up/totp-code";
import { settings } from "../lib/settings";
import { useSignInMethods } from "../lib/use-sign-in-methods";
import { userQuery } from "../lib/user";
import { supportsWebAuthn } from "../lib/webauthn-support";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

export function Security() {
  const user = useQuery(userQuery);
  const { methods, error, retry } = useSignInMethods();
  const withStepUp = useStepUp();
  return (
    <AccountPage
      title={texts.security.title}
      lead={texts.security.lead}
      hasError={user.isError || error !== null}
    >
      <Factors query={user} />
      {error !== null && <LoadError error={error} onRetry={retry} />}
      {methods?.passkeys_enabled && supportsWebAuthn() && <Passkeys withStepUp={withStepUp} />}
    </AccountPage>
  );
}

function Factors({ query }: { query: ReturnType<typeof useQuery<User>> }) {
  const withStepUp = useStepUp();
  if (query.isPending) return <CardSkeleton label={texts.security.loading} />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const factors = query.data.factors ?? [];
  const verified = factors.filter(({ status }) => status === "verified");
  const unfinished = factors.filter(({ status }) => status !== "verified");
  return (
    <>
      {verified.length === 0 ? (
        <EmptyState title={texts.security.none}>
          <p className="max-w-prose text-soft">{texts.security.why}</p>
          <AddFactor isFirst />
        </EmptyState>
      ) : (
        <Card title={texts.security.yours}>
          {verified.length === 1 && <Notice tone="info">{texts.security.onlyOne}</Notice>}
          <ul aria-label={texts.security.list} className={rowsClass}>
            {verified.map((factor) => (
              <FactorRow
                key={factor.id}
                factor={factor}
                isLast={verified.length === 1}
                withStepUp={withStepUp}
              />
            ))}
          </ul>
          <AddFactor isFirst={false} />
        </Card>
      )}
      {unfinished.length > 0 && (
        <Card title={texts.security.unfinished} lead={texts.security.unfinishedLead}>
          <ul aria-label={texts.security.unfinished} className={rowsClass}>
            {unfinished.map((factor) => (
              <FactorRow
                key={factor.id}
                factor={factor}
                isLast={false}
                withStepUp={withStepUp}
                action={<FinishEnrollment factor={factor} />}
              />
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

function AddFactor({ isFirst }: { isFirst: boolean }) {
  const withStepUp = useStepUp();
  const { totp, phone } = settings.mfa;
  const webAuthn = settings.mfa.webAuthn && supportsWebAuthn();
  if (!totp && !phone && !webAuthn) return <p className="text-sm text-soft">{texts.security.turnedOff}</p>;
  return (
    <div className="flex flex-wrap gap-3">
      {totp && (
        <Link href="/account/security/totp/new" className={buttonClass(isFirst ? "primary" : "secondary")}>
          {texts.security.addApp}
        </Link>
      )}
      {phone && (
        <Link href="/account/security/phone/new" className={buttonClass("secondary")}>
          {texts.security.addPhone}
        </Link>
      )}
      {webAuthn && <AddSecurityKey withStepUp={withStepUp} />}
    </div>
  );
}

/** Verifies an enrolled factor for the first time. */
function FinishEnrollment({ factor }: { factor: Factor }) {
  const queryClient = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const name = factor.friendly_name || texts.security.theApp;
  const finish = () => {
    setOpen(false);
    void queryClient.invalidateQueries(userQuery);
    toast(texts.common.twoStepOn);
  };
  return (
    <>
      <Button
        variant="secondary"
        size="sm"
        aria-label={texts.security.finishOf(name)}
        onClick={() => setOpen(true)}
      >
        {texts.security.finish}
      </Button>
      {isOpen && (
        <Dialog title={texts.security.finishTitle} onClose={() => setOpen(false)}>
          {factor.factor_type === "phone" && <PhoneCode factor={factor} onDone={finish} />}
          {factor.factor_type === "webauthn" && <SecurityKey factor={factor} onDone={finish} />}
          {factor.factor_type === "totp" && (
            <>
              <p className="text-soft">{texts.security.finishLead}</p>
              <TotpCode factor={factor} submitLabel={texts.security.finish} onDone={finish} />
            </>
          )}
        </Dialog>
      )}
    </>
  );
}
