import { useState } from "react";
import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField } from "../components/fields";
import { Form } from "../../components/form";
import { PhoneField } from "../components/phone-field";
import { resendDelaySeconds } from "../components/resend-button";
import { TextLink } from "../components/text-link";
import { CodeForm } from "../features/code/code-form";
import { auth } from "../lib/auth-client";
import { captchaOption } from "../lib/captcha";
import { unwrap } from "../../lib/failure";
import { hideAccountExistence } from "../lib/hide-account-existence";
import { saveLastSignInMethod } from "../lib/last-sign-in-method";
import { getPageState, replacePageState } from "../lib/navigation";
import { withNext } from "../../lib/next-param";
import { pageUrl, settings } from "../lib/settings";
import type { SignInMethods } from "../lib/sign-in-methods";
import { useForm } from "../../lib/use-form";
import { useSignInMethods } from "../lib/use-sign-in-methods";
import { checkEmail, checkPhone, normalizePhone } from "../lib/validation";
import { texts } from "../texts";
import { RequireGuest } from "../guards";
import { GuestLoadError, GuestPage, GuestSkeleton } from "../guest-layout";

/** Error codes for an address without an account, if codes cannot create users. */
const accountMissingCodes = ["otp_disabled", "signup_disabled", "user_not_found"];

type Target = { email: string } | { phone: string };

export function SignInCode() {
  const { methods, error, retry } = useSignInMethods();
  if (error) return <GuestLoadError error={error} onRetry={retry} />;
  return <RequireGuest>{methods ? <Steps methods={methods} /> : <GuestSkeleton />}</RequireGuest>;
}

function Steps({ methods }: { methods: SignInMethods }) {
  const search = useSearch();
  // The page state keeps the target of the sent code across a reload.
  const { email, phone, kind } = getPageState();
  const initial: Target = phone === undefined ? { email: email ?? "" } : { phone };
  const [target, setTarget] = useState<Target | null>(kind === "sent" ? initial : null);
  const [lastTarget, setLastTarget] = useState<Target>(initial);
  const hasEmail = methods.external["email"] === true && settings.email.magicLink;
  const hasPhone = methods.external["phone"] === true;

  const send = async (to: Target) => {
    const options = {
      shouldCreateUser: !methods.disable_signup,
      emailRedirectTo: pageUrl(withNext("/confirm", search)),
      ...(await captchaOption()),
    };
    await hideAccountExistence(unwrap(auth.signInWithOtp({ ...to, options })), accountMissingCodes);
  };
  if (target) {
    const changeTarget = () => {
      replacePageState(target);
      setLastTarget(target);
      setTarget(null);
    };
    return <CodeStep target={target} onResend={() => send(target)} onChange={changeTarget} />;
  }
  return (
    <AddressStep
      initial={lastTarget}
      hasEmail={hasEmail}
      hasPhone={hasPhone}
      onSend={async (to) => {
        await send(to);
        replacePageState({ ...to, kind: "sent" });
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
      await onSend(byPhone ? { phone: normalizePhone(phone) } : { email: email.trim() });
    },
  });
  return (
    <GuestPage
      title={texts.signInCode.title}
      lead={byPhone ? texts.signInCode.leadPhone : texts.signInCode.leadEmail}
      footer={
        <TextLink href={withNext("/sign-in", search)} state={{ email: form.values.email }}>
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
      footer={
        <Button variant="quiet" onClick={onChange}>
          {isPhone ? texts.signInCode.otherNumber : texts.signInCode.otherAddress}
        </Button>
      }
    >
      <CodeForm
        label={texts.common.code}
        length={length}
        submitLabel={texts.signInCode.submit}
        resendWaitSeconds={resendDelaySeconds}
        onResend={onResend}
        onVerify={async (token) => {
          const proof =
            "phone" in target
              ? { type: "sms" as const, phone: target.phone, token }
              : { type: "email" as const, email: target.email, token };
          await unwrap(auth.verifyOtp(proof));
          saveLastSignInMethod("code");
        }}
      />
    </GuestPage>
  );
}
