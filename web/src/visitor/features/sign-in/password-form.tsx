import { useId, useRef, useState } from "react";
import { useSearch } from "wouter";

import { Button } from "../../../components/button";
import { EmailField, PasswordField } from "../../components/fields";
import { Form } from "../../../components/form";
import { LastUsed } from "../../components/last-used";
import { ResendButton } from "../../components/resend-button";
import { TextLink } from "../../components/text-link";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { unwrap, type Failure } from "../../../lib/failure";
import { lastSignInMethod, saveLastSignInMethod } from "../../lib/last-sign-in-method";
import { withNext } from "../../../lib/next-param";
import { pageUrl } from "../../lib/settings";
import { useForm } from "../../../lib/use-form";
import { checkEmail } from "../../lib/validation";
import { showWeakPasswordWarning } from "../../lib/weak-password";
import { texts } from "../../texts";

type Props = {
  email: string;
  /** Lets the browser offer passkeys in the e-mail field. */
  offersPasskeys: boolean;
  forgotHref: string;
  onEmail: (email: string) => void;
};

/** E-mail and password. After a sign-in the route guard redirects. */
export function PasswordForm({ email, offersPasskeys, forgotHref, onEmail }: Props) {
  const search = useSearch();
  const lastUsedId = useId();
  const password = useRef<HTMLInputElement>(null);
  const [isUnconfirmed, setUnconfirmed] = useState(false);
  const [wasLast] = useState(() => lastSignInMethod() === "password");

  const form = useForm({
    values: { email, password: "" },
    screen: "sign-in",
    checks: {
      email: checkEmail,
      password: (value) => (value ? undefined : texts.checks.yourPasswordMissing),
    },
    submit: async (values) => {
      setUnconfirmed(false);
      const result = await unwrap(
        auth.signInWithPassword({
          email: values.email.trim(),
          password: values.password,
          options: await captchaOption(),
        }),
      );
      saveLastSignInMethod("password");
      if ("weakPassword" in result && result.weakPassword) showWeakPasswordWarning(result.user.id);
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
    unwrap(
      auth.resend({
        type: "signup",
        email: form.values.email.trim(),
        options: { emailRedirectTo: pageUrl(withNext("/confirm", search)), ...(await captchaOption()) },
      }),
    );

  return (
    <Form
      form={form}
      label={texts.signIn.form}
      help={isUnconfirmed && <ResendButton label={texts.signIn.resendConfirmation} onSend={resend} />}
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
        aria-describedby={wasLast ? lastUsedId : undefined}
        className="w-full"
      >
        {texts.signIn.submit}
        {wasLast && (
          // The button's description, not part of its accessible name.
          <span id={lastUsedId} aria-hidden>
            <LastUsed />
          </span>
        )}
      </Button>
    </Form>
  );
}
