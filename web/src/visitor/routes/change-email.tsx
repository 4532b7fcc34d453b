import type { User } from "@supabase/auth-js";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { CaptchaContainer } from "../components/captcha-container";
import { Card } from "../../components/card";
import { EmailField } from "../components/fields";
import { Form } from "../../components/form";
import { Notice } from "../../components/notice";
import { CardSkeleton, LoadError } from "../../components/states";
import { TextLink } from "../components/text-link";
import { toast } from "../components/toast";
import { CodeForm } from "../features/code/code-form";
import { useStepUp } from "../features/step-up/step-up";
import { auth } from "../lib/auth-client";
import { captchaOption } from "../lib/captcha";
import { unwrap } from "../../lib/failure";
import { useNavigation } from "../lib/navigation";
import { pageUrl, settings } from "../lib/settings";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../lib/user";
import { checkEmail } from "../lib/validation";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

const emailRedirectTo = pageUrl(`/confirm?next=${encodeURIComponent(`${settings.mount}/account`)}`);

export function ChangeEmail() {
  const user = useQuery(userQuery);
  return (
    <AccountPage title={texts.changeEmail.title}>
      <Content query={user} />
      <p className="text-sm">
        <TextLink href="/account">{texts.changeEmail.back}</TextLink>
      </p>
    </AccountPage>
  );
}

type ContentProps = { query: ReturnType<typeof useQuery<User>> };

function Content({ query }: ContentProps) {
  if (query.isPending) return <CardSkeleton label={texts.changeEmail.loading} />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const { email = "", new_email: pending } = query.data;
  return (
    <>
      {pending && <PendingChange current={email} pending={pending} />}
      <NewEmailForm current={email} />
    </>
  );
}

type NewEmailProps = { current: string };

function NewEmailForm({ current }: NewEmailProps) {
  const queryClient = useQueryClient();
  const withStepUp = useStepUp();
  const form = useForm({
    values: { email: "" },
    screen: "email",
    checks: {
      email: (value) =>
        checkEmail(value) ?? (value.trim() === current ? texts.changeEmail.isYours : undefined),
    },
    submit: async ({ email }) => {
      const { user } = await withStepUp(() =>
        unwrap(auth.updateUser({ email: email.trim() }, { emailRedirectTo })),
      );
      queryClient.setQueryData(userQuery.queryKey, user);
      form.set("email", "");
      toast(user.new_email ? texts.changeEmail.mailSent : texts.changeEmail.changed);
    },
  });
  return (
    <Card title={texts.changeEmail.newAddress} lead={current && texts.changeEmail.current(current)}>
      <Form form={form} label={texts.changeEmail.title}>
        <EmailField {...form.field("email")} label={texts.changeEmail.newEmail} autoComplete="email" />
        <div>
          <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.sending}>
            {texts.changeEmail.submit}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

type PendingProps = { current: string; pending: string };

function PendingChange({ current, pending }: PendingProps) {
  const nav = useNavigation();
  const queryClient = useQueryClient();
  const [isFirstConfirmed, setFirstConfirmed] = useState(false);
  const needsBoth = settings.email.doubleConfirm && current !== "";
  return (
    <Card title={needsBoth ? texts.changeEmail.confirmBoth : texts.changeEmail.confirmNew}>
      <p className="text-soft">
        {needsBoth ? texts.changeEmail.sentToBoth(pending, current) : texts.changeEmail.sentToNew(pending)}
      </p>
      {isFirstConfirmed && (
        <Notice tone="good" role="status">
          {texts.changeEmail.halfDone}
        </Notice>
      )}
      <CodeForm
        label={texts.codeForm.fromMail}
        length={settings.email.codeLength}
        submitLabel={texts.changeEmail.confirm}
        onResend={async () => {
          const options = { emailRedirectTo, ...(await captchaOption()) };
          return unwrap(auth.resend({ type: "email_change", email: pending, options }));
        }}
        onVerify={async (token) => {
          const { session } = await unwrap(auth.verifyOtp({ type: "email_change", email: pending, token }));
          if (!session) return setFirstConfirmed(true);
          await queryClient.invalidateQueries(userQuery);
          toast(texts.changeEmail.changed);
          nav.to("/account");
        }}
      />
      <CaptchaContainer />
    </Card>
  );
}
