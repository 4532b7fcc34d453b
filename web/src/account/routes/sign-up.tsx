import { useState } from "react";
import { useSearch } from "wouter";

import { pause } from "../../components/resend-button";
import { Divider, TextLink } from "../../components/text-link";
import { CodeForm } from "../../features/code/code-form";
import { ProviderButtons } from "../../features/providers/provider-buttons";
import { SignUpForm } from "../../features/sign-up/sign-up-form";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { done } from "../../lib/failure";
import { enabledProviders, type Methods } from "../../lib/methods";
import { carried, useGo } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { useSession } from "../../lib/session";
import { pageUrl, settings } from "../../lib/settings";
import { useMethods } from "../../lib/use-methods";
import { withoutTelling } from "../../lib/without-telling";
import * as texts from "../../texts";
import { Guest } from "../guards";
import { GuestLoadError, GuestPage, GuestSkeleton } from "../guest-layout";
import { leaveFor } from "./sign-in";

export function SignUp() {
  const { methods, error, retry } = useMethods();
  if (error) return <GuestLoadError error={error} onRetry={retry} />;
  return <Guest>{methods ? <Page methods={methods} /> : <GuestSkeleton />}</Guest>;
}

function Page({ methods }: { methods: Methods }) {
  const search = useSearch();
  const go = useGo();
  const session = useSession();
  const [email, setEmail] = useState(carried().email ?? "");
  const isUpgrade = session?.user.is_anonymous === true;
  const providers = isUpgrade ? [] : enabledProviders(methods);
  const link = (path: string) => keepNext(path, search);
  const signIn = texts.signUp.haveAccount((words) => (
    <TextLink href={link("/sign-in")} state={{ email }}>
      {words}
    </TextLink>
  ));
  if (methods.disable_signup) {
    return <GuestPage title={texts.signUp.closed} lead={texts.signUp.closedLead} foot={signIn} />;
  }

  return (
    <GuestPage
      title={isUpgrade ? texts.signUp.titleUpgrade : texts.signUp.title}
      lead={isUpgrade && texts.signUp.leadUpgrade}
      foot={signIn}
    >
      {providers.length > 0 && (
        <>
          <ProviderButtons
            providers={providers}
            label={texts.providers.continueWith}
            onChoose={(name) => leaveFor(name, search)}
          />
          {methods.external["email"] && <Divider>{texts.common.or}</Divider>}
        </>
      )}
      {methods.external["email"] && (
        <SignUpForm
          email={email}
          isUpgrade={isUpgrade}
          next={keepNext("", search)}
          signInHref={link("/sign-in")}
          forgotHref={link("/forgot-password")}
          onEmail={setEmail}
          onSent={(address, kind) => go.to("/sign-up/check-email", { email: address, kind })}
        />
      )}
    </GuestPage>
  );
}

/** `/sign-up/check-email`: the same whether or not the address had an account (U4). */
export function CheckEmail() {
  return (
    <Guest>
      <CheckEmailPage />
    </Guest>
  );
}

function CheckEmailPage() {
  const search = useSearch();
  const { email, kind } = carried();
  const isUpgrade = kind === "email_change";
  const back = (
    <TextLink href={keepNext("/sign-up", search)} state={{ email }}>
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
  const emailRedirectTo = pageUrl(keepNext("/confirm", search));
  return (
    <GuestPage
      title={texts.signUp.checkMail}
      lead={texts.signUp.sentTo(<strong className="font-medium text-text">{email}</strong>)}
      takesFocus={false}
      foot={back}
    >
      <CodeForm
        label={texts.codeForm.fromMail}
        length={settings.email.codeLength}
        submitLabel={texts.signUp.confirm}
        wait={pause}
        // The guard leads on, and somebody who had no name to a password first.
        onVerify={async (token) => {
          await done(auth.verifyOtp({ type: isUpgrade ? "email_change" : "signup", email, token }));
        }}
        onResend={async () => {
          const options = { emailRedirectTo, ...(await captchaOption()) };
          await withoutTelling(
            done(auth.resend({ type: isUpgrade ? "email_change" : "signup", email, options })),
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
