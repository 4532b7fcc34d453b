import type { EmailOtpType } from "@supabase/auth-js";
import { useState } from "react";
import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField } from "../components/fields";
import { Form } from "../../components/form";
import { Notice } from "../../components/notice";
import { TextLink } from "../components/text-link";
import { auth } from "../lib/auth-client";
import { captchaOption } from "../lib/captcha";
import { errorText } from "../lib/error-text";
import { unwrap, Failure } from "../../lib/failure";
import { hideAccountExistence } from "../lib/hide-account-existence";
import { saveLastSignInMethod } from "../lib/last-sign-in-method";
import { useNavigation } from "../lib/navigation";
import { withNext } from "../../lib/next-param";
import { redirectParams, clearRedirectParams } from "../lib/redirect-params";
import { isAnonymousUpgrade, needsSecondFactor, startRecovery, useSession } from "../lib/session";
import { pageUrl } from "../lib/settings";
import { useAction } from "../../lib/use-action";
import { useForm } from "../../lib/use-form";
import { checkEmail } from "../lib/validation";
import { texts } from "../texts";
import { GuestPage } from "../guest-layout";
import { Callback } from "./callback";

type ConfirmText = { title: string; lead: string; button: string };

const textsByType: Record<string, ConfirmText> = texts.confirm.kinds;

/** `/confirm`: target of e-mail links. A click verifies the token, because mail scanners open links (U5). */
export function Confirm() {
  if (redirectParams.code || redirectParams.error) return <Callback />;
  if (redirectParams.message) return <FirstConfirmed />;
  const type = redirectParams.type ?? "";
  const text = Object.hasOwn(textsByType, type) ? textsByType[type] : undefined;
  if (!redirectParams.tokenHash || !text) return <IncompleteLink />;
  return (
    <ConfirmForm
      tokenHash={redirectParams.tokenHash}
      type={redirectParams.type as EmailOtpType}
      text={text}
    />
  );
}

type ConfirmFormProps = { tokenHash: string; type: EmailOtpType; text: ConfirmText };

function ConfirmForm({ tokenHash, type, text }: ConfirmFormProps) {
  const nav = useNavigation();
  const search = useSearch();
  const [isFirstConfirmed, setFirstConfirmed] = useState(false);
  const previousSession = useSession();
  const { run, isBusy, failure } = useAction(
    async () => {
      const { session } = await unwrap(auth.verifyOtp({ token_hash: tokenHash, type }));
      clearRedirectParams();
      if (!session) return setFirstConfirmed(true);
      if (type === "recovery" || type === "invite") {
        startRecovery(session.user.id);
        return nav.replace("/reset-password", { kind: type });
      }
      if (type === "magiclink" || type === "email") saveLastSignInMethod("code");
      if (isAnonymousUpgrade(previousSession, session)) return nav.toFirstPassword();
      if (needsSecondFactor(session)) return nav.replace(withNext("/sign-in/mfa", search));
      nav.toNext({ notice: type === "email_change" ? texts.confirm.emailConfirmed : "" });
    },
    { handlesSessionErrors: false },
  );
  if (isFirstConfirmed) return <FirstConfirmed />;
  if (failure?.code === "otp_expired") return <ExpiredLink type={type} />;
  return (
    <GuestPage title={text.title} lead={text.lead} hasError={!!failure}>
      {failure && (
        <Notice tone="danger" role="alert">
          {errorText(failure, "confirm").text}
        </Notice>
      )}
      <Button isBusy={isBusy} busyLabel={texts.confirm.confirming} onClick={() => void run()}>
        {text.button}
      </Button>
    </GuestPage>
  );
}

function FirstConfirmed() {
  return (
    <GuestPage title={texts.confirm.oneMoreStep}>
      <Notice tone="good" role="status">
        {texts.confirm.halfDone}
      </Notice>
    </GuestPage>
  );
}

/** How to get a new link depends on the type of the expired one. */
export function ExpiredLink({ type }: { type: string | null }) {
  const search = useSearch();
  const text = errorText(new Failure("otp_expired", ""), "confirm").text;
  return (
    <GuestPage title={texts.confirm.expired} hasError>
      <Notice tone="warn" role="alert">
        {text}
      </Notice>
      {type === "recovery" && (
        <TextLink href={withNext("/forgot-password", search)}>{texts.confirm.newResetLink}</TextLink>
      )}
      {type === "invite" && <p>{texts.confirm.newInvitation}</p>}
      {type === "email_change" && <TextLink href="/account/email">{texts.confirm.changeEmailAgain}</TextLink>}
      {type === "signup" && <NewLinkForm />}
      {!["recovery", "invite", "email_change", "signup"].includes(type ?? "") && (
        <TextLink href={withNext("/sign-in/code", search)}>{texts.confirm.newLinkOrCode}</TextLink>
      )}
    </GuestPage>
  );
}

function NewLinkForm() {
  const nav = useNavigation();
  const search = useSearch();
  const form = useForm({
    values: { email: "" },
    screen: "email",
    checks: { email: checkEmail },
    submit: async ({ email }) => {
      const emailRedirectTo = pageUrl(withNext("/confirm", search));
      const options = { emailRedirectTo, ...(await captchaOption()) };
      await hideAccountExistence(unwrap(auth.resend({ type: "signup", email: email.trim(), options })));
      nav.to("/sign-up/check-email", { email: email.trim(), kind: "signup" });
    },
  });
  return (
    <Form form={form} label={texts.confirm.newLink}>
      <EmailField {...form.field("email")} />
      <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.sending}>
        {texts.confirm.sendNewLink}
      </Button>
    </Form>
  );
}

function IncompleteLink() {
  return (
    <GuestPage title={texts.confirm.incomplete} lead={texts.confirm.incompleteLead} hasError>
      <TextLink href="/sign-in">{texts.confirm.toSignIn}</TextLink>
    </GuestPage>
  );
}
