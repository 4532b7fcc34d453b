import { useState } from "react";

import { Button } from "../../components/button";
import { Checkbox, EmailField, TextField } from "../../components/field";
import { Form } from "../../components/form";
import { NewPasswordField } from "../../components/new-password-field";
import { TextLink } from "../../components/text-link";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { done, Failure } from "../../lib/failure";
import { rememberMethod } from "../../lib/last-method";
import { pageUrl, settings } from "../../lib/settings";
import { useForm } from "../../lib/use-form";
import { checkEmail, checkNewPassword } from "../../lib/validation";

type Props = {
  email: string;
  /** Somebody without a name gets one instead of a second account. */
  isUpgrade: boolean;
  next: string;
  signInHref: string;
  forgotHref: string;
  onEmail: (email: string) => void;
  onSent: (email: string, kind: "signup" | "email_change") => void;
};

export function SignUpForm(props: Props) {
  const { email, isUpgrade, next, signInHref, forgotHref, onEmail, onSent } = props;
  const [hasAgreed, setAgreed] = useState(false);
  const fields = isUpgrade ? [] : settings.profileFields;
  const form = useForm({
    values: {
      ...Object.fromEntries(fields.map(({ key }) => [`profile-${key}`, ""])),
      email,
      ...(isUpgrade ? {} : { password: "" }),
      consent: "",
    } as Record<string, string>,
    screen: "sign-up",
    checks: {
      email: checkEmail,
      password: (value) => checkNewPassword(value, settings.password.minLength),
      consent: () => (settings.consent && !hasAgreed ? "Please agree to continue." : undefined),
      ...Object.fromEntries(
        fields.map(({ key, label, required }) => [
          `profile-${key}`,
          (value: string) => (required && !value.trim() ? `${label} is required.` : undefined),
        ]),
      ),
    },
    submit: async (values) => {
      const address = values["email"]!.trim();
      const redirect = { emailRedirectTo: pageUrl(`/confirm${next}`) };
      if (isUpgrade) {
        await done(auth.updateUser({ email: address }, redirect));
        return onSent(address, "email_change");
      }
      const data = Object.fromEntries(
        fields.map(({ key }) => [key, values[`profile-${key}`]!.trim()]).filter(([, value]) => value),
      );
      const { session } = await done(
        auth.signUp({
          email: address,
          password: values["password"]!,
          options: { ...redirect, data, ...(await captchaOption()) },
        }),
      );
      rememberMethod("password");
      // With a session the guard of the page leads on.
      if (!session) onSent(address, "signup");
    },
  });
  const isTaken = form.failure instanceof Failure && /exists$/.test(form.failure.code);

  return (
    <Form
      form={form}
      label="Create an account"
      help={
        isTaken && (
          <p className="flex flex-wrap gap-x-4 gap-y-1">
            <TextLink href={signInHref} state={{ email: form.values["email"] }}>
              Sign in
            </TextLink>
            <TextLink href={forgotHref} state={{ email: form.values["email"] }}>
              Reset your password
            </TextLink>
          </p>
        )
      }
    >
      {fields.map(({ key, label, required, max }) => (
        <TextField
          key={key}
          {...form.field(`profile-${key}`)}
          label={required ? label : `${label} (optional)`}
          maxLength={max}
        />
      ))}
      <EmailField
        {...form.field("email")}
        onValue={(value) => {
          form.set("email", value);
          onEmail(value);
        }}
      />
      {!isUpgrade && <NewPasswordField {...form.field("password")} />}
      {settings.consent && (
        <Checkbox
          name="consent"
          isChecked={hasAgreed}
          onCheck={(checked) => {
            setAgreed(checked);
            form.set("consent", checked ? "yes" : "");
          }}
          error={form.errors["consent"]}
          label={<Consent />}
        />
      )}
      <Button type="submit" isBusy={form.isBusy} busyLabel="Creating your account…" className="w-full">
        {isUpgrade ? "Continue" : "Create account"}
      </Button>
    </Form>
  );
}

function Consent() {
  const terms = settings.termsUrl && (
    <a className="underline underline-offset-2" href={settings.termsUrl}>
      terms
    </a>
  );
  const privacy = settings.privacyUrl && (
    <a className="underline underline-offset-2" href={settings.privacyUrl}>
      privacy policy
    </a>
  );
  if (!terms && !privacy) return <>I agree to the terms of this service</>;
  return (
    <>
      I agree to the {terms}
      {terms && privacy && " and the "}
      {privacy}
    </>
  );
}
