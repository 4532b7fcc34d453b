import { useState } from "react";
import { useSearch } from "wouter";

import { LastUsed } from "../../components/last-used";
import { Notice } from "../../components/notice";
import { Divider, TextLink } from "../../components/text-link";
import { ProviderButtons } from "../../features/providers/provider-buttons";
import { PasskeyButton, supportsPasskeys } from "../../features/sign-in/passkey";
import { PasswordForm } from "../../features/sign-in/password-form";
import { auth } from "../../lib/auth-client";
import { done } from "../../lib/failure";
import { lastMethod, rememberMethod } from "../../lib/last-method";
import { enabledProviders, type Methods, scopesFor } from "../../lib/methods";
import { carried, leavingNow } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { pageUrl, settings } from "../../lib/settings";
import { useMethods } from "../../lib/use-methods";
import * as texts from "../../texts";
import { Guest } from "../guards";
import { GuestLoadError, GuestPage, GuestSkeleton } from "../guest-layout";

const reasons: Record<string, string> = texts.signIn.reasons;

export function SignIn() {
  const { methods, error, retry } = useMethods();
  if (error) return <GuestLoadError error={error} onRetry={retry} />;
  return <Guest>{methods ? <Page methods={methods} /> : <GuestSkeleton />}</Guest>;
}

function Page({ methods }: { methods: Methods }) {
  const search = useSearch();
  const [email, setEmail] = useState(carried().email ?? "");
  const providers = enabledProviders(methods);
  const hasPasskeys = methods.passkeys_enabled && supportsPasskeys();
  const hasEmail = methods.external["email"] === true;
  const link = (path: string) => keepNext(path, search);
  const why = new URLSearchParams(search).get("reason") ?? "";
  const reason = Object.hasOwn(reasons, why) ? reasons[why] : undefined;
  const notice = reason ?? carried().notice;

  const hasCode = (hasEmail && settings.email.magicLink) || methods.external["phone"] === true;
  const newHere = texts.signIn.newHere((words) => (
    <TextLink href={link("/sign-up")} state={{ email }}>
      {words}
    </TextLink>
  ));
  return (
    <GuestPage title={texts.signIn.title} foot={!methods.disable_signup && newHere}>
      {notice && (
        <Notice tone="info" role="status">
          {notice}
        </Notice>
      )}
      {providers.length > 0 && (
        <ProviderButtons
          providers={providers}
          label={texts.providers.continueWith}
          onChoose={(name) => leaveFor(name, search)}
        />
      )}
      {hasPasskeys && <PasskeyButton />}
      {(providers.length > 0 || hasPasskeys) && hasEmail && <Divider>{texts.common.or}</Divider>}
      {hasEmail && (
        <PasswordForm
          email={email}
          offersPasskeys={hasPasskeys}
          forgotHref={link("/forgot-password")}
          onEmail={setEmail}
        />
      )}
      {(hasCode || methods.saml_enabled) && (
        <ul className="grid gap-2 text-center text-sm">
          {hasCode && (
            <li>
              <TextLink href={link("/sign-in/code")} state={{ email }}>
                {texts.signIn.withCode}
                {lastMethod() === "code" && <LastUsed />}
              </TextLink>
            </li>
          )}
          {methods.saml_enabled && (
            <li>
              <TextLink href={link("/sign-in/sso")} state={{ email }}>
                {texts.signIn.withSso}
                {lastMethod() === "sso" && <LastUsed />}
              </TextLink>
            </li>
          )}
        </ul>
      )}
    </GuestPage>
  );
}

/** To the provider, and back to the page that ends the flow. */
export async function leaveFor(provider: string, search: string) {
  rememberMethod(provider);
  const redirectTo = pageUrl(keepNext("/callback", search));
  const options = { redirectTo, ...scopesFor(provider) };
  await done(auth.signInWithOAuth({ provider: provider as "github", options }));
  await leavingNow();
}
