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
import * as texts from "../../texts";
import { AccountPage } from "../account-layout";

export function Security() {
  const user = useQuery(userQuery);
  const { methods, error, retry } = useMethods();
  const guarded = useStepUp();
  return (
    <AccountPage
      title={texts.security.title}
      lead={texts.security.lead}
      hasError={user.isError || error !== null}
    >
      <Factors query={user} />
      {error !== null && <LoadError error={error} onRetry={retry} />}
      {methods?.passkeys_enabled && "PublicKeyCredential" in window && <Passkeys guarded={guarded} />}
    </AccountPage>
  );
}

function Factors({ query }: { query: ReturnType<typeof useQuery<User>> }) {
  const guarded = useStepUp();
  if (query.isPending) return <Skeleton label={texts.security.loading} />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const factors = query.data.factors ?? [];
  const verified = factors.filter(({ status }) => status === "verified");
  const unfinished = factors.filter(({ status }) => status !== "verified");
  return (
    <>
      {verified.length === 0 ? (
        <EmptyState title={texts.security.none}>
          <p className="max-w-prose text-soft">{texts.security.why}</p>
          <Add isFirst />
        </EmptyState>
      ) : (
        <Card title={texts.security.yours}>
          {verified.length === 1 && <Notice tone="info">{texts.security.onlyOne}</Notice>}
          <ul aria-label={texts.security.list} className={rowsClass}>
            {verified.map((factor) => (
              <FactorRow key={factor.id} factor={factor} isLast={verified.length === 1} guarded={guarded} />
            ))}
          </ul>
          <Add isFirst={false} />
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
      {webAuthn && "PublicKeyCredential" in window && <AddSecurityKey guarded={guarded} />}
    </div>
  );
}

/** Everything is prepared: only the first proof is missing. */
function Finish({ factor }: { factor: Factor }) {
  const cache = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const name = factor.friendly_name || texts.security.theApp;
  const finish = () => {
    setOpen(false);
    void cache.invalidateQueries(userQuery);
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
              <AppCode factor={factor} submitLabel={texts.security.finish} onDone={finish} />
            </>
          )}
        </Dialog>
      )}
    </>
  );
}
