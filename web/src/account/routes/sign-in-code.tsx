import { useState } from "react";
import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField } from "../../components/field";
import { Form } from "../../components/form";
import { PhoneField } from "../../components/phone-field";
import { pause } from "../../components/resend-button";
import { TextLink } from "../../components/text-link";
import { CodeForm } from "../../features/code/code-form";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { done } from "../../lib/failure";
import { rememberMethod } from "../../lib/last-method";
import type { Methods } from "../../lib/methods";
import { carried, keepHere } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { pageUrl, settings } from "../../lib/settings";
import { useForm } from "../../lib/use-form";
import { useMethods } from "../../lib/use-methods";
import { checkEmail, checkPhone, plainPhone } from "../../lib/validation";
import { withoutTelling } from "../../lib/without-telling";
import * as texts from "../../texts";
import { Guest } from "../guards";
import { GuestLoadError, GuestPage, GuestSkeleton } from "../guest-layout";

/** Where nobody signs up by code, the server says these of an address without an account. */
const noSuchAccount = ["otp_disabled", "signup_disabled", "user_not_found"];

type Target = { email: string } | { phone: string };

export function SignInCode() {
  const { methods, error, retry } = useMethods();
  if (error) return <GuestLoadError error={error} onRetry={retry} />;
  return <Guest>{methods ? <Steps methods={methods} /> : <GuestSkeleton />}</Guest>;
}

function Steps({ methods }: { methods: Methods }) {
  const search = useSearch();
  // What was sent where outlives a reload, in the state of the history entry.
  const { email, phone, kind } = carried();
  const first: Target = phone === undefined ? { email: email ?? "" } : { phone };
  const [target, setTarget] = useState<Target | null>(kind === "sent" ? first : null);
  const [last, setLast] = useState<Target>(first);
  const hasEmail = methods.external["email"] === true && settings.email.magicLink;
  const hasPhone = methods.external["phone"] === true;

  const send = async (to: Target) => {
    const options = {
      shouldCreateUser: !methods.disable_signup,
      emailRedirectTo: pageUrl(keepNext("/confirm", search)),
      ...(await captchaOption()),
    };
    await withoutTelling(done(auth.signInWithOtp({ ...to, options })), noSuchAccount);
  };
  if (target) {
    const change = () => {
      keepHere(target);
      setLast(target);
      setTarget(null);
    };
    return <CodeStep target={target} onResend={() => send(target)} onChange={change} />;
  }
  return (
    <AddressStep
      initial={last}
      hasEmail={hasEmail}
      hasPhone={hasPhone}
      onSend={async (to) => {
        await send(to);
        keepHere({ ...to, kind: "sent" });
        setTarget(to);
      }}
    />
  );
}

type AddressProps = {
  initial: Target;
  hasEmail: boolean;
  hasPhone: boolean;
  onSend: (to: Target) => Promise<void>;
};

function AddressStep({ initial, hasEmail, hasPhone, onSend }: AddressProps) {
  const search = useSearch();
  const [byPhone, setByPhone] = useState("phone" in initial || !hasEmail);
  const form = useForm({
    values: {
      email: "email" in initial ? initial.email : "",
      phone: "phone" in initial ? initial.phone : "",
    },
    screen: byPhone ? "phone" : "email",
    checks: byPhone ? { phone: checkPhone } : { email: checkEmail },
    submit: async ({ email, phone }) => {
      await onSend(byPhone ? { phone: plainPhone(phone) } : { email: email.trim() });
    },
  });
  return (
    <GuestPage
      title={texts.signInCode.title}
      lead={byPhone ? texts.signInCode.leadPhone : texts.signInCode.leadEmail}
      foot={
        <TextLink href={keepNext("/sign-in", search)} state={{ email: form.values.email }}>
          {texts.signIn.otherWay}
        </TextLink>
      }
    >
      <Form form={form} label={texts.signInCode.form}>
        {byPhone ? <PhoneField {...form.field("phone")} /> : <EmailField {...form.field("email")} />}
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.sending} className="w-full">
          {texts.common.sendCode}
        </Button>
      </Form>
      {hasEmail && hasPhone && (
        <Button variant="quiet" onClick={() => setByPhone(!byPhone)}>
          {byPhone ? texts.signInCode.byEmail : texts.signInCode.byPhone}
        </Button>
      )}
    </GuestPage>
  );
}

type CodeProps = {
  target: Target;
  onResend: () => Promise<void>;
  onChange: () => void;
};

function CodeStep({ target, onResend, onChange }: CodeProps) {
  const isPhone = "phone" in target;
  const { codeLength: length } = isPhone ? settings.sms : settings.email;
  const address = <strong className="font-medium text-text">{isPhone ? target.phone : target.email}</strong>;
  return (
    <GuestPage
      title={isPhone ? texts.signInCode.checkPhone : texts.signInCode.checkMail}
      lead={isPhone ? texts.signInCode.sentToPhone(address) : texts.signInCode.sentToEmail(address, length)}
      takesFocus={false}
      foot={
        <Button variant="quiet" onClick={onChange}>
          {isPhone ? texts.signInCode.otherNumber : texts.signInCode.otherAddress}
        </Button>
      }
    >
      <CodeForm
        label={texts.common.code}
        length={length}
        submitLabel={texts.signInCode.submit}
        wait={pause}
        onResend={onResend}
        onVerify={async (token) => {
          const proof =
            "phone" in target
              ? { type: "sms" as const, phone: target.phone, token }
              : { type: "email" as const, email: target.email, token };
          await done(auth.verifyOtp(proof));
          rememberMethod("code");
        }}
      />
    </GuestPage>
  );
}
