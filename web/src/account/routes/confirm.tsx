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
import { useGo } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { needsSecondStep, startRecovery } from "../../lib/session";
import { pageUrl } from "../../lib/settings";
import { useAction } from "../../lib/use-action";
import { useForm } from "../../lib/use-form";
import { checkEmail } from "../../lib/validation";
import { GuestPage } from "../guest-layout";
import { Callback } from "./callback";
import { Banned } from "./sign-in";

const words: Record<string, { title: string; lead: string; button: string }> = {
  signup: {
    title: "Confirm your e-mail",
    lead: "One click, and your account is ready.",
    button: "Confirm e-mail",
  },
  email: { title: "Sign in", lead: "Continue to sign in on this device.", button: "Sign in" },
  magiclink: { title: "Sign in", lead: "Continue to sign in on this device.", button: "Sign in" },
  invite: {
    title: "Accept your invitation",
    lead: "Continue to set up your account.",
    button: "Accept invitation",
  },
  recovery: {
    title: "Reset your password",
    lead: "Continue to choose a new password.",
    button: "Continue",
  },
  email_change: {
    title: "Confirm your e-mail",
    lead: "Continue to use this address from now on.",
    button: "Confirm e-mail",
  },
};

/** `/confirm`: the token is used by the click, because mail scanners open links (U5). */
export function Confirm() {
  if (arrival.code || arrival.error) return <Callback />;
  if (arrival.message) return <HalfDone />;
  const text = words[arrival.type ?? ""];
  if (!arrival.tokenHash || !text) return <Malformed />;
  return <Ready tokenHash={arrival.tokenHash} type={arrival.type as EmailOtpType} text={text} />;
}

type Words = { title: string; lead: string; button: string };
type ReadyProps = { tokenHash: string; type: EmailOtpType; text: Words };

function Ready({ tokenHash, type, text }: ReadyProps) {
  const go = useGo();
  const search = useSearch();
  const [isHalfDone, setHalfDone] = useState(false);
  const { run, isBusy, failure } = useAction(async () => {
    const { session } = await done(auth.verifyOtp({ token_hash: tokenHash, type }));
    forgetArrival();
    if (!session) return setHalfDone(true);
    if (type === "recovery" || type === "invite") {
      startRecovery(session.user.id);
      return go.replace("/reset-password", { kind: type });
    }
    if (needsSecondStep(session)) return go.replace(keepNext("/sign-in/mfa", search));
    go.onwards({ notice: type === "email_change" ? "Your e-mail address is confirmed." : "" });
  });
  if (isHalfDone) return <HalfDone />;
  if (failure?.code === "otp_expired") return <Expired type={type} />;
  if (failure?.code === "user_banned") return <Banned />;
  return (
    <GuestPage title={text.title} lead={text.lead} hasError={!!failure}>
      {failure && (
        <Notice tone="danger" role="alert">
          {errorText(failure, "confirm").text}
        </Notice>
      )}
      <Button isBusy={isBusy} busyLabel="Confirming…" onClick={() => void run()}>
        {text.button}
      </Button>
    </GuestPage>
  );
}

function HalfDone() {
  return (
    <GuestPage title="One more step">
      <Notice tone="good" role="status">
        One confirmation received. Now open the link we sent to your other address.
      </Notice>
    </GuestPage>
  );
}

/** What to do about a link that is no longer good depends on what it was for. */
export function Expired({ type }: { type: string | null }) {
  const text = errorText(new Failure("otp_expired", ""), "confirm").text;
  return (
    <GuestPage title="This link no longer works" hasError>
      <Notice tone="warn" role="alert">
        {text}
      </Notice>
      {type === "recovery" && <TextLink href="/forgot-password">Ask for a new reset link</TextLink>}
      {type === "invite" && <p>Ask whoever invited you to send another invitation.</p>}
      {type === "email_change" && <TextLink href="/account/email">Change your e-mail again</TextLink>}
      {type === "signup" && <NewLink />}
      {!["recovery", "invite", "email_change", "signup"].includes(type ?? "") && (
        <TextLink href="/sign-in/code">Ask for a new link or code</TextLink>
      )}
    </GuestPage>
  );
}

function NewLink() {
  const go = useGo();
  const form = useForm({
    values: { email: "" },
    screen: "email",
    checks: { email: checkEmail },
    submit: async ({ email }) => {
      const options = { emailRedirectTo: pageUrl("/confirm"), ...(await captchaOption()) };
      await done(auth.resend({ type: "signup", email: email.trim(), options }));
      go.to("/sign-up/check-email", { email: email.trim(), kind: "signup" });
    },
  });
  return (
    <Form form={form} label="Ask for a new link">
      <EmailField {...form.field("email")} />
      <Button type="submit" isBusy={form.isBusy} busyLabel="Sending…">
        Send a new link
      </Button>
    </Form>
  );
}

function Malformed() {
  return (
    <GuestPage
      title="This link is incomplete"
      lead="Some mail programs cut long links. Open it again from the mail, or copy the whole address."
      hasError
    >
      <TextLink href="/sign-in">Go to sign-in</TextLink>
    </GuestPage>
  );
}
