import type { EmailOtpType } from "@supabase/auth-js";
import { useState } from "react";
import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField } from "../../components/field";
import { Form } from "../../components/form";
import { Notice } from "../../components/notice";
import { TextLink } from "../../components/text-link";
import { arrival, forgetArrival } from "../../lib/arrival";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { errorText } from "../../lib/error-text";
import { done, Failure } from "../../lib/failure";
import { rememberMethod } from "../../lib/last-method";
import { useGo } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { hasGotName, needsSecondStep, startRecovery, useSession } from "../../lib/session";
import { pageUrl } from "../../lib/settings";
import { useAction } from "../../lib/use-action";
import { useForm } from "../../lib/use-form";
import { checkEmail } from "../../lib/validation";
import { withoutTelling } from "../../lib/without-telling";
import * as texts from "../../texts";
import { GuestPage } from "../guest-layout";
import { Callback } from "./callback";

type Words = { title: string; lead: string; button: string };

const kinds: Record<string, Words> = texts.confirm.kinds;

/** `/confirm`: the token is used by the click, because mail scanners open links (U5). */
export function Confirm() {
  if (arrival.code || arrival.error) return <Callback />;
  if (arrival.message) return <HalfDone />;
  const type = arrival.type ?? "";
  const text = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (!arrival.tokenHash || !text) return <Malformed />;
  return <Ready tokenHash={arrival.tokenHash} type={arrival.type as EmailOtpType} text={text} />;
}

type ReadyProps = { tokenHash: string; type: EmailOtpType; text: Words };

function Ready({ tokenHash, type, text }: ReadyProps) {
  const go = useGo();
  const search = useSearch();
  const [isHalfDone, setHalfDone] = useState(false);
  const before = useSession();
  const { run, isBusy, failure } = useAction(
    async () => {
      const { session } = await done(auth.verifyOtp({ token_hash: tokenHash, type }));
      forgetArrival();
      if (!session) return setHalfDone(true);
      if (type === "recovery" || type === "invite") {
        startRecovery(session.user.id);
        return go.replace("/reset-password", { kind: type });
      }
      if (type === "magiclink" || type === "email") rememberMethod("code");
      if (hasGotName(before, session)) return go.toFirstPassword();
      if (needsSecondStep(session)) return go.replace(keepNext("/sign-in/mfa", search));
      go.onwards({ notice: type === "email_change" ? texts.confirm.emailConfirmed : "" });
    },
    { isAboutSession: false },
  );
  if (isHalfDone) return <HalfDone />;
  if (failure?.code === "otp_expired") return <Expired type={type} />;
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

function HalfDone() {
  return (
    <GuestPage title={texts.confirm.oneMoreStep}>
      <Notice tone="good" role="status">
        {texts.confirm.halfDone}
      </Notice>
    </GuestPage>
  );
}

/** What to do about a link that is no longer good depends on what it was for. */
export function Expired({ type }: { type: string | null }) {
  const search = useSearch();
  const text = errorText(new Failure("otp_expired", ""), "confirm").text;
  return (
    <GuestPage title={texts.confirm.expired} hasError>
      <Notice tone="warn" role="alert">
        {text}
      </Notice>
      {type === "recovery" && (
        <TextLink href={keepNext("/forgot-password", search)}>{texts.confirm.newResetLink}</TextLink>
      )}
      {type === "invite" && <p>{texts.confirm.newInvitation}</p>}
      {type === "email_change" && <TextLink href="/account/email">{texts.confirm.changeEmailAgain}</TextLink>}
      {type === "signup" && <NewLink />}
      {!["recovery", "invite", "email_change", "signup"].includes(type ?? "") && (
        <TextLink href={keepNext("/sign-in/code", search)}>{texts.confirm.newLinkOrCode}</TextLink>
      )}
    </GuestPage>
  );
}

function NewLink() {
  const go = useGo();
  const search = useSearch();
  const form = useForm({
    values: { email: "" },
    screen: "email",
    checks: { email: checkEmail },
    submit: async ({ email }) => {
      const emailRedirectTo = pageUrl(keepNext("/confirm", search));
      const options = { emailRedirectTo, ...(await captchaOption()) };
      await withoutTelling(done(auth.resend({ type: "signup", email: email.trim(), options })));
      go.to("/sign-up/check-email", { email: email.trim(), kind: "signup" });
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

function Malformed() {
  return (
    <GuestPage title={texts.confirm.incomplete} lead={texts.confirm.incompleteLead} hasError>
      <TextLink href="/sign-in">{texts.confirm.toSignIn}</TextLink>
    </GuestPage>
  );
}
