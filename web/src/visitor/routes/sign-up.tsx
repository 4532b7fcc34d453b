import { useState } from "react";
import { useSearch } from "wouter";

import { resendDelaySeconds } from "../components/resend-button";
import { Divider, TextLink } from "../components/text-link";
import { CodeForm } from "../features/code/code-form";
import { ProviderButtons } from "../features/providers/provider-buttons";
import { SignUpForm } from "../features/sign-up/sign-up-form";
import { auth } from "../lib/auth-client";
import { captchaOption } from "../lib/captcha";
import { unwrap } from "../../lib/failure";
import { hideAccountExistence } from "../lib/hide-account-existence";
import { getPageState, useNavigation } from "../lib/navigation";
import { withNext } from "../../lib/next-param";
import { useSession } from "../lib/session";
import { pageUrl, settings } from "../lib/settings";
import { enabledProviders, type SignInMethods } from "../lib/sign-in-methods";
import { useSignInMethods } from "../lib/use-sign-in-methods";
import { texts } from "../texts";
import { RequireGuest } from "../guards";
import { GuestLoadError, GuestPage, GuestSkeleton } from "../guest-layout";
import { redirectToProvider } from "./sign-in";

export function SignUp() {
  const { methods, error, retry } = useSignInMethods();
  if (error) return <GuestLoadError error={error} onRetry={retry} />;
  return <RequireGuest>{methods ? <Page methods={methods} /> : <GuestSkeleton />}</RequireGuest>;
}

function Page({ methods }: { methods: SignInMethods }) {
  const search = useSearch();
  const nav = useNavigation();
  const session = useSession();
  const [email, setEmail] = useState(getPageState().email ?? "");
  const isUpgrade = session?.user.is_anonymous === true;
  const providers = isUpgrade ? [] : enabledProviders(methods);
  const link = (path: string) => withNext(path, search);
  const signIn = texts.signUp.haveAccount((text) => (
    <TextLink href={link("/sign-in")} state={{ email }}>
      {text}
    </TextLink>
  ));
  if (methods.disable_signup) {
    return <GuestPage title={texts.signUp.closed} lead={texts.signUp.closedLead} footer={signIn} />;
  }

  return (
    <GuestPage
      title={isUpgrade ? texts.signUp.titleUpgrade : texts.signUp.title}
      lead={isUpgrade && texts.signUp.leadUpgrade}
      footer={signIn}
    >
      {providers.length > 0 && (
        <>
          <ProviderButtons
            providers={providers}
            label={texts.providers.continueWith}
            onChoose={(name) => redirectToProvider(name, search)}
          />
          {methods.external["email"] && <Divider>{texts.common.or}</Divider>}
        </>
      )}
      {methods.external["email"] && (
        <SignUpForm
          email={email}
          isUpgrade={isUpgrade}
          next={withNext("", search)}
          signInHref={link("/sign-in")}
          forgotHref={link("/forgot-password")}
          onEmail={setEmail}
          onSent={(address, kind) => nav.to("/sign-up/check-email", { email: address, kind })}
        />
      )}
    </GuestPage>
  );
}

/** `/sign-up/check-email`: identical whether or not the address had an account (U4). */
export function CheckEmail() {
  return (
    <RequireGuest>
      <CheckEmailPage />
    </RequireGuest>
  );
}

function CheckEmailPage() {
  const search = useSearch();
  const { email, kind } = getPageState();
  const isUpgrade = kind === "email_change";
  const back = (
    <TextLink href={withNext("/sign-up", search)} state={{ email }}>
      {texts.signUp.wrongAddress}
    </TextLink>
  );
  if (!email) {
    return (
      <GuestPage title={texts.signUp.checkMail} lead={texts.signUp.checkMailLead}>
        <p className="text-sm">{back}</p>
      </GuestPage>
    );
  }
  const emailRedirectTo = pageUrl(withNext("/confirm", search));
  return (
    <GuestPage
      title={texts.signUp.checkMail}
      lead={texts.signUp.sentTo(<strong className="font-medium text-text">{email}</strong>)}
      takesFocus={false}
      footer={back}
    >
      <CodeForm
        label={texts.codeForm.fromMail}
        length={settings.email.codeLength}
        submitLabel={texts.signUp.confirm}
        resendWaitSeconds={resendDelaySeconds}
        // The route guard redirects; upgraded users set a password first.
        onVerify={async (token) => {
          await unwrap(auth.verifyOtp({ type: isUpgrade ? "email_change" : "signup", email, token }));
        }}
        onResend={async () => {
          const options = { emailRedirectTo, ...(await captchaOption()) };
          await hideAccountExistence(
            unwrap(auth.resend({ type: isUpgrade ? "email_change" : "signup", email, options })),
          );
        }}
      />
      <p className="text-sm">
        <a className="font-medium underline decoration-line-strong underline-offset-4" href="mailto:">
          {texts.signUp.openMailApp}
        </a>
      </p>
    </GuestPage>
  );
}
