import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField } from "../components/fields";
import { Form } from "../../components/form";
import { NewPasswordField } from "../components/new-password-field";
import { resendDelaySeconds } from "../components/resend-button";
import { TextLink } from "../components/text-link";
import { toast } from "../components/toast";
import { CodeForm } from "../features/code/code-form";
import { Challenge } from "../features/step-up/challenge";
import { auth } from "../lib/auth-client";
import { captchaOption } from "../lib/captcha";
import { unwrap } from "../../lib/failure";
import { hideAccountExistence } from "../lib/hide-account-existence";
import { getPageState, useNavigation } from "../lib/navigation";
import { withNext } from "../../lib/next-param";
import {
  endRecovery,
  isRecovering,
  needsSecondFactor,
  useSession,
  duringPasswordReset,
} from "../lib/session";
import { pageUrl, settings } from "../lib/settings";
import { useForm } from "../../lib/use-form";
import { checkEmail, checkNewPassword } from "../lib/validation";
import { texts } from "../texts";
import { RequireGuest } from "../guards";
import { GuestPage, GuestSkeleton } from "../guest-layout";
import { SignOutButton } from "../sign-out-button";

async function sendReset(email: string) {
  const options = { redirectTo: pageUrl("/confirm"), ...(await captchaOption()) };
  await hideAccountExistence(unwrap(auth.resetPasswordForEmail(email, options)));
}

export function ForgotPassword() {
  return (
    <RequireGuest>
      <ForgotPage />
    </RequireGuest>
  );
}

function ForgotPage() {
  const nav = useNavigation();
  const search = useSearch();
  const form = useForm({
    values: { email: getPageState().email ?? "" },
    screen: "email",
    checks: { email: checkEmail },
    submit: async ({ email }) => {
      await sendReset(email.trim());
      nav.to("/forgot-password/sent", { email: email.trim() });
    },
  });
  return (
    <GuestPage
      title={texts.recovery.forgot}
      lead={texts.recovery.forgotLead}
      footer={
        <TextLink href={withNext("/sign-in", search)} state={{ email: form.values.email }}>
          {texts.signIn.back}
        </TextLink>
      }
    >
      <Form form={form} label={texts.recovery.form}>
        <EmailField {...form.field("email")} />
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.sending} className="w-full">
          {texts.recovery.send}
        </Button>
      </Form>
    </GuestPage>
  );
}

/** `/forgot-password/sent`: identical for every address (U4). */
export function ForgotSent() {
  return (
    <RequireGuest>
      <SentPage />
    </RequireGuest>
  );
}

function SentPage() {
  const search = useSearch();
  const { email } = getPageState();
  const back = (
    <TextLink href={withNext("/forgot-password", search)} state={{ email }}>
      {texts.recovery.otherAddress}
    </TextLink>
  );
  if (!email) {
    return <GuestPage title={texts.recovery.checkMail} lead={texts.recovery.checkMailLead} footer={back} />;
  }
  return (
    <GuestPage
      title={texts.recovery.checkMail}
      lead={texts.recovery.sentTo(<strong className="font-medium text-text">{email}</strong>)}
      takesFocus={false}
      footer={back}
    >
      <CodeForm
        label={texts.codeForm.fromMail}
        length={settings.email.codeLength}
        resendWaitSeconds={resendDelaySeconds}
        onResend={() => sendReset(email)}
        // The PASSWORD_RECOVERY event redirects (lib/session.ts).
        onVerify={async (token) =>
          void (await duringPasswordReset(() => unwrap(auth.verifyOtp({ type: "recovery", email, token }))))
        }
      />
    </GuestPage>
  );
}

/** `/reset-password`: after a reset link or an invitation. */
export function ResetPassword() {
  const session = useSession();
  if (session === undefined) return <GuestSkeleton />;
  if (!session || !isRecovering(session)) {
    return (
      <GuestPage title={texts.recovery.needsLink} lead={texts.recovery.needsLinkLead}>
        <TextLink href={session ? "/account/password" : "/forgot-password"}>
          {session ? texts.recovery.changeInstead : texts.recovery.askForLink}
        </TextLink>
      </GuestPage>
    );
  }
  if (needsSecondFactor(session)) {
    return (
      <GuestPage
        title={texts.recovery.oneMoreStep}
        lead={texts.recovery.oneMoreStepLead}
        takesFocus={false}
        footer={<SkipActions />}
      >
        <Challenge onDone={() => {}} />
      </GuestPage>
    );
  }
  return <NewPasswordForm email={session.user.email ?? ""} />;
}

function NewPasswordForm({ email }: { email: string }) {
  const nav = useNavigation();
  const form = useForm({
    values: { password: "" },
    screen: "password",
    checks: { password: (value) => checkNewPassword(value, settings.password.minLength) },
    submit: async ({ password }) => {
      await unwrap(auth.updateUser({ password }));
      endRecovery();
      toast(texts.common.passwordChanged);
      nav.replace("/account");
    },
  });
  return (
    <GuestPage
      title={texts.recovery.choose}
      lead={email && texts.recovery.chooseLead(email)}
      footer={<SkipActions />}
    >
      <Form form={form} label={texts.recovery.choose}>
        {/* Tells password managers which account this is. */}
        <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
        <NewPasswordField {...form.field("password")} label={texts.common.newPassword} />
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.saving} className="w-full">
          {texts.recovery.save}
        </Button>
      </Form>
    </GuestPage>
  );
}

/** Alternatives to choosing a password now (client contract 5.8). */
function SkipActions() {
  const nav = useNavigation();
  const keepCurrent = () => {
    endRecovery();
    nav.replace("/account");
  };
  return (
    <div className="flex flex-wrap justify-center gap-x-6">
      <Button variant="quiet" onClick={keepCurrent}>
        {texts.recovery.keepCurrent}
      </Button>
      <SignOutButton />
    </div>
  );
}
