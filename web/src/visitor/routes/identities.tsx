import type { User, UserIdentity } from "@supabase/auth-js";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { Card, Row, rowsClass } from "../../components/card";
import { ConfirmDialog } from "../components/confirm-dialog";
import { Notice } from "../../components/notice";
import { CardSkeleton, LoadError } from "../../components/states";
import { Time } from "../../components/time";
import { toast } from "../components/toast";
import { ProviderButtons } from "../features/providers/provider-buttons";
import { ProviderMark } from "../features/providers/provider-mark";
import { useStepUp } from "../features/step-up/step-up";
import { auth } from "../lib/auth-client";
import { errorText } from "../lib/error-text";
import { unwrap, toFailure } from "../../lib/failure";
import { getPageState, waitForUnload } from "../lib/navigation";
import { pageUrl, settings } from "../lib/settings";
import { enabledProviders, providerName, scopesFor } from "../lib/sign-in-methods";
import { useSignInMethods } from "../lib/use-sign-in-methods";
import { userQuery } from "../lib/user";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

function identityLabel({ provider }: UserIdentity): string {
  if (provider === "email") return texts.identities.email;
  return provider === "phone" ? texts.identities.phone : providerName(provider);
}

function identityAccount({ identity_data: data }: UserIdentity): string {
  const text = data?.["email"] ?? data?.["full_name"] ?? data?.["name"] ?? data?.["phone"];
  return typeof text === "string" ? text : "";
}

export function Identities() {
  const user = useQuery(userQuery);
  const { notice } = getPageState();
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
  if (query.isPending) return <CardSkeleton label={texts.identities.loading} />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const identities = query.data.identities ?? [];
  return (
    <>
      <Card>
        <ul aria-label={texts.identities.title} className={rowsClass}>
          {identities.map((identity) => (
            <IdentityRow
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
      {settings.manualLinking && <AvailableProviders linked={identities.map(({ provider }) => provider)} />}
    </>
  );
}

type IdentityRowProps = { identity: UserIdentity; user: User; isOnly: boolean };

function IdentityRow({ identity, user, isOnly }: IdentityRowProps) {
  const queryClient = useQueryClient();
  const withStepUp = useStepUp();
  const [isConfirming, setConfirming] = useState(false);
  const label = identityLabel(identity);
  const isPrimary = identity.identity_data?.["email"] === user.email;
  const unlink = async () => {
    let message: string = texts.identities.disconnected(label);
    try {
      await withStepUp(() => unwrap(auth.unlinkIdentity(identity)));
    } catch (error) {
      const failure = toFailure(error);
      if (failure.code !== "identity_not_found") throw failure;
      message = errorText(failure).text;
    }
    await auth.refreshSession();
    await queryClient.invalidateQueries(userQuery);
    toast(message);
  };
  return (
    <Row
      icon={<ProviderMark provider={identity.provider} />}
      title={label}
      details={
        <>
          {identityAccount(identity)}
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
            onClick={() => setConfirming(true)}
          >
            {texts.identities.disconnect}
          </Button>
          {isConfirming && (
            <ConfirmDialog
              title={texts.identities.disconnectTitle(label)}
              action={texts.identities.disconnect}
              busyLabel={texts.identities.disconnecting}
              onConfirm={unlink}
              onClose={() => setConfirming(false)}
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

function AvailableProviders({ linked }: { linked: string[] }) {
  const withStepUp = useStepUp();
  const { methods, error, retry } = useSignInMethods();
  if (error) return <LoadError error={error} onRetry={retry} />;
  if (!methods) return <CardSkeleton label={texts.identities.loadingOthers} />;
  const providers = enabledProviders(methods).filter((provider) => !linked.includes(provider));
  if (providers.length === 0) return null;
  const connect = async (provider: string) => {
    const next = encodeURIComponent(`${settings.mount}/account/identities`);
    const redirectTo = pageUrl(`/callback?linked=${provider}&next=${next}`);
    const options = { redirectTo, ...scopesFor(provider) };
    await withStepUp(() => unwrap(auth.linkIdentity({ provider: provider as "github", options })));
    await waitForUnload();
  };
  return (
    <Card title={texts.identities.another} lead={texts.identities.anotherLead}>
      <ProviderButtons providers={providers} label={texts.identities.connect} onChoose={connect} />
    </Card>
  );
}
