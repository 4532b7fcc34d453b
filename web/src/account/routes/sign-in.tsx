import { useState } from "react";
import { useSearch } from "wouter";

import { Notice } from "../../components/notice";
import { Divider, TextLink } from "../../components/text-link";
import { ProviderButtons } from "../../features/providers/provider-buttons";
import { PasskeyButton, supportsPasskeys } from "../../features/sign-in/passkey";
import { PasswordForm } from "../../features/sign-in/password-form";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { done, Failure } from "../../lib/failure";
import { rememberMethod } from "../../lib/last-method";
import { enabledProviders, type Methods, scopesFor } from "../../lib/methods";
import { carried } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { pageUrl, settings } from "../../lib/settings";
import { useMethods } from "../../lib/use-methods";
import { Guest } from "../guards";
import { GuestLoadError, GuestPage, GuestSkeleton } from "../guest-layout";

const reasons: Record<string, string> = {
  expired: "You've been signed out. Please sign in again.",
  revoked: "This device was signed out.",
  signed_out: "You're signed out.",
};

export function SignIn() {
  const { methods, error, retry } = useMethods();
  if (error) return <GuestLoadError error={error} onRetry={retry} />;
  return <Guest>{methods ? <Page methods={methods} /> : <GuestSkeleton />}</Guest>;
}

function Page({ methods }: { methods: Methods }) {
  const search = useSearch();
  const [email, setEmail] = useState(carried().email ?? "");
  const [isBanned, setBanned] = useState(false);
  const providers = enabledProviders(methods);
  const hasPasskeys = methods.passkeys_enabled && supportsPasskeys();
  const hasEmail = methods.external["email"] === true;
  const link = (path: string) => keepNext(path, search);
  const why = new URLSearchParams(search).get("reason") ?? "";
  const reason = Object.hasOwn(reasons, why) ? reasons[why] : undefined;
  const notice = reason ?? carried().notice;
  if (isBanned) return <Banned />;

  const hasCode = (hasEmail && settings.email.magicLink) || methods.external["phone"] === true;
  return (
    <GuestPage
      title="Sign in"
      foot={
        !methods.disable_signup && (
          <>
            New here?{" "}
            <TextLink href={link("/sign-up")} state={{ email }}>
              Create an account
            </TextLink>
          </>
        )
      }
    >
      {notice && (
        <Notice tone="info" role="status">
          {notice}
        </Notice>
      )}
      {providers.length > 0 && (
        <ProviderButtons
          providers={providers}
          verb="Continue with"
          onChoose={(name) => leaveFor(name, search)}
        />
      )}
      {hasPasskeys && <PasskeyButton onBanned={() => setBanned(true)} />}
      {(providers.length > 0 || hasPasskeys) && hasEmail && <Divider>or</Divider>}
      {hasEmail && (
        <PasswordForm
          email={email}
          offersPasskeys={hasPasskeys}
          forgotHref={link("/forgot-password")}
          onEmail={setEmail}
          onBanned={() => setBanned(true)}
        />
      )}
      {(hasCode || methods.saml_enabled) && (
        <ul className="grid gap-2 text-center text-sm">
          {hasCode && (
            <li>
              <TextLink href={link("/sign-in/code")} state={{ email }}>
                Sign in with a code instead
              </TextLink>
            </li>
          )}
          {methods.saml_enabled && (
            <li>
              <TextLink href={link("/sign-in/sso")} state={{ email }}>
                Use single sign-on
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
  // The browser is leaving; the button stays busy until it is gone.
  await new Promise(() => {});
}

export function Banned() {
  return (
    <GuestPage title="This account is suspended" hasError>
      <p>{errorText(new Failure("user_banned", "")).text}</p>
      {settings.supportUrl && (
        <p>
          <a className="font-medium underline underline-offset-4" href={settings.supportUrl}>
            Contact support
          </a>
        </p>
      )}
    </GuestPage>
  );
}
