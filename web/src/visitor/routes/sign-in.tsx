import { useState } from "react";
import { useSearch } from "wouter";

import { LastUsed } from "../components/last-used";
import { Notice } from "../../components/notice";
import { Divider, TextLink } from "../components/text-link";
import { ProviderButtons } from "../features/providers/provider-buttons";
import { PasskeyButton } from "../features/sign-in/passkey";
import { PasswordForm } from "../features/sign-in/password-form";
import { auth } from "../lib/auth-client";
import { unwrap } from "../../lib/failure";
import { lastSignInMethod, saveLastSignInMethod } from "../lib/last-sign-in-method";
import { getPageState, waitForUnload } from "../lib/navigation";
import { withNext } from "../../lib/next-param";
import { pageUrl, settings } from "../lib/settings";
import { enabledProviders, type SignInMethods, scopesFor } from "../lib/sign-in-methods";
import { useSignInMethods } from "../lib/use-sign-in-methods";
import { supportsWebAuthn } from "../lib/webauthn-support";
import { texts } from "../texts";
import { RequireGuest } from "../guards";
import { GuestLoadError, GuestPage, GuestSkeleton } from "../guest-layout";

const reasons: Record<string, string> = texts.signIn.reasons;

export function SignIn() {
  const { methods, error, retry } = useSignInMethods();
  if (error) return <GuestLoadError error={error} onRetry={retry} />;
  return <RequireGuest>{methods ? <Page methods={methods} /> : <GuestSkeleton />}</RequireGuest>;
}

function Page({ methods }: { methods: SignInMethods }) {
  const search = useSearch();
  const [email, setEmail] = useState(getPageState().email ?? "");
  const providers = enabledProviders(methods);
  const hasPasskeys = methods.passkeys_enabled && supportsWebAuthn();
  const hasEmail = methods.external["email"] === true;
  const link = (path: string) => withNext(path, search);
  const reasonCode = new URLSearchParams(search).get("reason") ?? "";
  const reason = Object.hasOwn(reasons, reasonCode) ? reasons[reasonCode] : undefined;
  const notice = reason ?? getPageState().notice;

  const hasCode = (hasEmail && settings.email.magicLink) || methods.external["phone"] === true;
  const newHere = texts.signIn.newHere((text) => (
    <TextLink href={link("/sign-up")} state={{ email }}>
      {text}
    </TextLink>
  ));
  return (
    <GuestPage title={texts.signIn.title} footer={!methods.disable_signup && newHere}>
      {notice && (
        <Notice tone="info" role="status">
          {notice}
        </Notice>
      )}
      {providers.length > 0 && (
        <ProviderButtons
          providers={providers}
          label={texts.providers.continueWith}
          onChoose={(name) => redirectToProvider(name, search)}
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
                {lastSignInMethod() === "code" && <LastUsed />}
              </TextLink>
            </li>
          )}
          {methods.saml_enabled && (
            <li>
              <TextLink href={link("/sign-in/sso")} state={{ email }}>
                {texts.signIn.withSso}
                {lastSignInMethod() === "sso" && <LastUsed />}
              </TextLink>
            </li>
          )}
        </ul>
      )}
    </GuestPage>
  );
}

/** Starts the OAuth flow, which returns to `/callback`. */
export async function redirectToProvider(provider: string, search: string) {
  saveLastSignInMethod(provider);
  const redirectTo = pageUrl(withNext("/callback", search));
  const options = { redirectTo, ...scopesFor(provider) };
  await unwrap(auth.signInWithOAuth({ provider: provider as "github", options }));
  await waitForUnload();
}
