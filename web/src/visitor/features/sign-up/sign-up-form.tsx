import { type ReactNode, useState } from "react";

import { Button } from "../../../components/button";
import { Checkbox, TextField } from "../../../components/field";
import { EmailField } from "../../components/fields";
import { Form } from "../../../components/form";
import { NewPasswordField } from "../../components/new-password-field";
import { TextLink } from "../../components/text-link";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { unwrap, Failure } from "../../../lib/failure";
import { hideAccountExistence } from "../../lib/hide-account-existence";
import { saveLastSignInMethod } from "../../lib/last-sign-in-method";
import { profileFields } from "../../lib/service";
import { pageUrl, settings } from "../../lib/settings";
import { useForm } from "../../../lib/use-form";
import { checkEmail, checkNewPassword } from "../../lib/validation";
import { texts } from "../../texts";

type Props = {
  email: string;
  /** Upgrades the anonymous user instead of creating an account. */
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
  const fields = isUpgrade ? [] : profileFields;
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
      consent: () => (settings.consent && !hasAgreed ? texts.checks.consentMissing : undefined),
      ...Object.fromEntries(
        fields.map(({ key, label, required }) => [
          `profile-${key}`,
          (value: string) => (required && !value.trim() ? texts.checks.required(label) : undefined),
        ]),
      ),
    },
    submit: async (values) => {
      const address = values["email"]!.trim();
      const redirect = { emailRedirectTo: pageUrl(`/confirm${next}`) };
      if (isUpgrade) {
        await unwrap(auth.updateUser({ email: address }, redirect));
        return onSent(address, "email_change");
      }
      const data = Object.fromEntries(
        fields.map(({ key }) => [key, values[`profile-${key}`]!.trim()]).filter(([, value]) => value),
      );
      const options = { ...redirect, data, ...(await captchaOption()) };
      const result = await hideAccountExistence(
        unwrap(auth.signUp({ email: address, password: values["password"]!, options })),
      );
      saveLastSignInMethod("password");
      // With a session the route guard redirects.
      if (!result?.session) onSent(address, "signup");
    },
  });
  const isTaken = form.failure instanceof Failure && /exists$/.test(form.failure.code);

  return (
    <Form
      form={form}
      label={texts.signUp.title}
      help={
        isTaken && (
          <p className="flex flex-wrap gap-x-4 gap-y-1">
            <TextLink href={signInHref} state={{ email: form.values["email"] }}>
              {texts.signUp.signInInstead}
            </TextLink>
            <TextLink href={forgotHref} state={{ email: form.values["email"] }}>
              {texts.signUp.resetInstead}
            </TextLink>
          </p>
        )
      }
    >
      {fields.map(({ key, label, required, max }) => (
        <TextField
          key={key}
          {...form.field(`profile-${key}`)}
          label={required ? label : texts.common.optional(label)}
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
          label={consentLabel()}
        />
      )}
      <Button type="submit" isBusy={form.isBusy} busyLabel={texts.signUp.creating} className="w-full">
        {isUpgrade ? texts.common.continue : texts.signUp.submit}
      </Button>
    </Form>
  );
}

function consentLabel(): ReactNode {
  const { termsUrl, privacyUrl } = settings;
  const link = (url: string) => (text: string) => (
    <a className="underline underline-offset-2" href={url}>
      {text}
    </a>
  );
  if (termsUrl && privacyUrl) return texts.signUp.consentBoth(link(termsUrl), link(privacyUrl));
  if (termsUrl) return texts.signUp.consentTerms(link(termsUrl));
  return privacyUrl ? texts.signUp.consentPrivacy(link(privacyUrl)) : texts.signUp.consent;
}
