import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField } from "../../components/field";
import { Form } from "../../components/form";
import { NewPasswordField } from "../../components/new-password-field";
import { pause } from "../../components/resend-button";
import { TextLink } from "../../components/text-link";
import { toast } from "../../components/toast";
import { CodeForm } from "../../features/code/code-form";
import { Challenge } from "../../features/step-up/challenge";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { done } from "../../lib/failure";
import { carried, useGo } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { endRecovery, isRecovering, needsSecondStep, useSession, usingReset } from "../../lib/session";
import { pageUrl, settings } from "../../lib/settings";
import { useForm } from "../../lib/use-form";
import { checkEmail, checkNewPassword } from "../../lib/validation";
import { withoutTelling } from "../../lib/without-telling";
import * as texts from "../../texts";
import { Guest } from "../guards";
import { GuestPage, GuestSkeleton } from "../guest-layout";
import { SignOutButton } from "../sign-out-button";

async function sendReset(email: string) {
  const options = { redirectTo: pageUrl("/confirm"), ...(await captchaOption()) };
  await withoutTelling(done(auth.resetPasswordForEmail(email, options)));
}

export function ForgotPassword() {
  return (
    <Guest>
      <ForgotPage />
    </Guest>
  );
}

function ForgotPage() {
  const go = useGo();
  const search = useSearch();
  const form = useForm({
    values: { email: carried().email ?? "" },
    screen: "email",
    checks: { email: checkEmail },
    submit: async ({ email }) => {
      await sendReset(email.trim());
      go.to("/forgot-password/sent", { email: email.trim() });
    },
  });
  return (
    <GuestPage
      title={texts.recovery.forgot}
      lead={texts.recovery.forgotLead}
      foot={
        <TextLink href={keepNext("/sign-in", search)} state={{ email: form.values.email }}>
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

/** `/forgot-password/sent`: the same for every address (U4). */
export function ForgotSent() {
  return (
    <Guest>
      <SentPage />
    </Guest>
  );
}

function SentPage() {
  const search = useSearch();
  const { email } = carried();
  const back = (
    <TextLink href={keepNext("/forgot-password", search)} state={{ email }}>
      {texts.recovery.otherAddress}
    </TextLink>
  );
  if (!email) {
    return <GuestPage title={texts.recovery.checkMail} lead={texts.recovery.checkMailLead} foot={back} />;
  }
  return (
    <GuestPage
      title={texts.recovery.checkMail}
      lead={texts.recovery.sentTo(<strong className="font-medium text-text">{email}</strong>)}
      takesFocus={false}
      foot={back}
    >
      <CodeForm
        label={texts.codeForm.fromMail}
        length={settings.email.codeLength}
        wait={pause}
        onResend={() => sendReset(email)}
        // The event of a recovery takes the page along (lib/session.ts).
        onVerify={async (token) =>
          void (await usingReset(() => done(auth.verifyOtp({ type: "recovery", email, token }))))
        }
      />
    </GuestPage>
  );
}

/** `/reset-password`: for those who came with a reset link or an invitation. */
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
  if (needsSecondStep(session)) {
    return (
      <GuestPage
        title={texts.recovery.oneMoreStep}
        lead={texts.recovery.oneMoreStepLead}
        takesFocus={false}
        foot={<WaysOut />}
      >
        <Challenge onDone={() => {}} />
      </GuestPage>
    );
  }
  return <NewPassword email={session.user.email ?? ""} />;
}

function NewPassword({ email }: { email: string }) {
  const go = useGo();
  const form = useForm({
    values: { password: "" },
    screen: "password",
    checks: { password: (value) => checkNewPassword(value, settings.password.minLength) },
    submit: async ({ password }) => {
      await done(auth.updateUser({ password }));
      endRecovery();
      toast(texts.common.passwordChanged);
      go.replace("/account");
    },
  });
  return (
    <GuestPage
      title={texts.recovery.choose}
      lead={email && texts.recovery.chooseLead(email)}
      foot={<WaysOut />}
    >
      <Form form={form} label={texts.recovery.choose}>
        {/* Password managers want to know whose password this is. */}
        <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
        <NewPasswordField {...form.field("password")} label={texts.common.newPassword} />
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.saving} className="w-full">
          {texts.recovery.save}
        </Button>
      </Form>
    </GuestPage>
  );
}

/** For those who would rather not choose a password now (client contract 5.8). */
function WaysOut() {
  const go = useGo();
  const keep = () => {
    endRecovery();
    go.replace("/account");
  };
  return (
    <div className="flex flex-wrap justify-center gap-x-6">
      <Button variant="quiet" onClick={keep}>
        {texts.recovery.keepCurrent}
      </Button>
      <SignOutButton />
    </div>
  );
}
