import type { User, UserIdentity } from "@supabase/auth-js";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { Card, Row, rowsClass } from "../../components/card";
import { ConfirmDialog } from "../../components/confirm-dialog";
import { Notice } from "../../components/notice";
import { LoadError, Skeleton } from "../../components/states";
import { Time } from "../../components/time";
import { toast } from "../../components/toast";
import { ProviderButtons } from "../../features/providers/provider-buttons";
import { ProviderMark } from "../../features/providers/provider-mark";
import { useStepUp } from "../../features/step-up/step-up";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { done, toFailure } from "../../lib/failure";
import { enabledProviders, providerName, scopesFor } from "../../lib/methods";
import { carried, leavingNow } from "../../lib/navigation";
import { pageUrl, settings } from "../../lib/settings";
import { useMethods } from "../../lib/use-methods";
import { userQuery } from "../../lib/user";
import * as texts from "../../texts";
import { AccountPage } from "../account-layout";

function labelOf({ provider }: UserIdentity): string {
  if (provider === "email") return texts.identities.email;
  return provider === "phone" ? texts.identities.phone : providerName(provider);
}

function accountOf({ identity_data: data }: UserIdentity): string {
  const text = data?.["email"] ?? data?.["full_name"] ?? data?.["name"] ?? data?.["phone"];
  return typeof text === "string" ? text : "";
}

export function Identities() {
  const user = useQuery(userQuery);
  const { notice } = carried();
  return (
    <AccountPage
      title={texts.identities.title}
      lead={texts.identities.lead}
      hasError={!!notice || user.isError}
    >
      {notice && (
        <Notice tone="danger" role="alert">
          {notice}
        </Notice>
      )}
      <Content query={user} />
    </AccountPage>
  );
}

function Content({ query }: { query: ReturnType<typeof useQuery<User>> }) {
  if (query.isPending) return <Skeleton label={texts.identities.loading} />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const identities = query.data.identities ?? [];
  return (
    <>
      <Card>
        <ul aria-label={texts.identities.title} className={rowsClass}>
          {identities.map((identity) => (
            <Identity
              key={identity.identity_id}
              identity={identity}
              user={query.data}
              isOnly={identities.length === 1}
            />
          ))}
        </ul>
        {identities.length === 1 && (
          <p className="text-sm text-soft" id="only-identity">
            {texts.identities.onlyOne}
          </p>
        )}
      </Card>
      {settings.manualLinking && <Available taken={identities.map(({ provider }) => provider)} />}
    </>
  );
}

type IdentityProps = { identity: UserIdentity; user: User; isOnly: boolean };

function Identity({ identity, user, isOnly }: IdentityProps) {
  const cache = useQueryClient();
  const guarded = useStepUp();
  const [isAsking, setAsking] = useState(false);
  const label = labelOf(identity);
  const isPrimary = identity.identity_data?.["email"] === user.email;
  const unlink = async () => {
    let said: string = texts.identities.disconnected(label);
    try {
      await guarded(() => done(auth.unlinkIdentity(identity)));
    } catch (error) {
      const failure = toFailure(error);
      if (failure.code !== "identity_not_found") throw failure;
      said = errorText(failure).text;
    }
    await auth.refreshSession();
    await cache.invalidateQueries(userQuery);
    toast(said);
  };
  return (
    <Row
      icon={<ProviderMark provider={identity.provider} />}
      title={label}
      details={
        <>
          {accountOf(identity)}
          {identity.created_at && (
            <>
              {" · "}
              {texts.identities.connectedAt(<Time at={identity.created_at} form="day" />)}
            </>
          )}
          {identity.last_sign_in_at && (
            <>
              {" · "}
              {texts.identities.used(<Time at={identity.last_sign_in_at} />)}
            </>
          )}
        </>
      }
      action={
        <>
          <Button
            variant="secondary"
            size="sm"
            aria-label={texts.identities.disconnectOf(label)}
            aria-describedby={isOnly ? "only-identity" : undefined}
            disabled={isOnly}
            onClick={() => setAsking(true)}
          >
            {texts.identities.disconnect}
          </Button>
          {isAsking && (
            <ConfirmDialog
              title={texts.identities.disconnectTitle(label)}
              action={texts.identities.disconnect}
              busyLabel={texts.identities.disconnecting}
              onConfirm={unlink}
              onClose={() => setAsking(false)}
            >
              <p>{texts.identities.disconnectText}</p>
              {isPrimary && <p>{texts.identities.providesEmail(user.email ?? "")}</p>}
            </ConfirmDialog>
          )}
        </>
      }
    />
  );
}

function Available({ taken }: { taken: string[] }) {
  const guarded = useStepUp();
  const { methods, error, retry } = useMethods();
  if (error) return <LoadError error={error} onRetry={retry} />;
  if (!methods) return <Skeleton label={texts.identities.loadingOthers} />;
  const providers = enabledProviders(methods).filter((provider) => !taken.includes(provider));
  if (providers.length === 0) return null;
  const connect = async (provider: string) => {
    const next = encodeURIComponent(`${settings.mount}/account/identities`);
    const redirectTo = pageUrl(`/callback?linked=${provider}&next=${next}`);
    const options = { redirectTo, ...scopesFor(provider) };
    await guarded(() => done(auth.linkIdentity({ provider: provider as "github", options })));
    await leavingNow();
  };
  return (
    <Card title={texts.identities.another} lead={texts.identities.anotherLead}>
      <ProviderButtons providers={providers} label={texts.identities.connect} onChoose={connect} />
    </Card>
  );
}
