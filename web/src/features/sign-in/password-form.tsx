import { useId, useRef, useState } from "react";
import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField, PasswordField } from "../../components/field";
import { Form } from "../../components/form";
import { LastUsed } from "../../components/last-used";
import { ResendButton } from "../../components/resend-button";
import { TextLink } from "../../components/text-link";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { done, type Failure } from "../../lib/failure";
import { lastMethod, rememberMethod } from "../../lib/last-method";
import { keepNext } from "../../lib/next";
import { pageUrl } from "../../lib/settings";
import { useForm } from "../../lib/use-form";
import { checkEmail } from "../../lib/validation";
import { adviseNewPassword } from "../../lib/weak-password";
import * as texts from "../../texts";

type Props = {
  email: string;
  /** Lets the browser offer passkeys in the field of the address. */
  offersPasskeys: boolean;
  forgotHref: string;
  onEmail: (email: string) => void;
};

/** E-mail and password. Signing in is noticed by the guard of the page, which leads on. */
export function PasswordForm({ email, offersPasskeys, forgotHref, onEmail }: Props) {
  const search = useSearch();
  const markId = useId();
  const password = useRef<HTMLInputElement>(null);
  const [unconfirmed, setUnconfirmed] = useState(false);
  const [wasLast] = useState(() => lastMethod() === "password");

  const form = useForm({
    values: { email, password: "" },
    screen: "sign-in",
    checks: {
      email: checkEmail,
      password: (value) => (value ? undefined : texts.checks.yourPasswordMissing),
    },
    submit: async (values) => {
      setUnconfirmed(false);
      const answer = await done(
        auth.signInWithPassword({
          email: values.email.trim(),
          password: values.password,
          options: await captchaOption(),
        }),
      );
      rememberMethod("password");
      if ("weakPassword" in answer && answer.weakPassword) adviseNewPassword(answer.user.id);
    },
    onFailure: (failure: Failure, { set }) => {
      if (failure.code === "email_not_confirmed") setUnconfirmed(true);
      if (failure.code === "invalid_credentials") {
        set("password", "");
        return () => password.current?.focus();
      }
      return false;
    },
  });
  const resend = async () =>
    done(
      auth.resend({
        type: "signup",
        email: form.values.email.trim(),
        options: { emailRedirectTo: pageUrl(keepNext("/confirm", search)), ...(await captchaOption()) },
      }),
    );

  return (
    <Form
      form={form}
      label={texts.signIn.form}
      help={unconfirmed && <ResendButton label={texts.signIn.resendConfirmation} onSend={resend} />}
    >
      <EmailField
        {...form.field("email")}
        autoComplete={offersPasskeys ? "username webauthn" : "username"}
        onValue={(value) => {
          form.set("email", value);
          onEmail(value);
        }}
      />
      <PasswordField
        {...form.field("password")}
        ref={password}
        label={texts.common.password}
        autoComplete="current-password"
        aside={
          <span className="text-sm">
            <TextLink href={forgotHref} state={{ email: form.values.email }}>
              {texts.signIn.forgot}
            </TextLink>
          </span>
        }
      />
      <Button
        type="submit"
        isBusy={form.isBusy}
        busyLabel={texts.signIn.signingIn}
        aria-describedby={wasLast ? markId : undefined}
        className="w-full"
      >
        {texts.signIn.submit}
        {wasLast && (
          // Said of the button, and no part of its name.
          <span id={markId} aria-hidden>
            <LastUsed />
          </span>
        )}
      </Button>
    </Form>
  );
}
