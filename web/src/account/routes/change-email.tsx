import type { User } from "@supabase/auth-js";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { Card } from "../../components/card";
import { EmailField } from "../../components/field";
import { Form } from "../../components/form";
import { Notice } from "../../components/notice";
import { LoadError, Skeleton } from "../../components/states";
import { TextLink } from "../../components/text-link";
import { toast } from "../../components/toast";
import { CodeForm } from "../../features/code/code-form";
import { useStepUp } from "../../features/step-up/step-up";
import { auth } from "../../lib/auth-client";
import { done } from "../../lib/failure";
import { useGo } from "../../lib/navigation";
import { pageUrl, settings } from "../../lib/settings";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../../lib/user";
import { checkEmail } from "../../lib/validation";
import { AccountPage } from "../account-layout";

const emailRedirectTo = pageUrl(`/confirm?next=${encodeURIComponent(`${settings.mount}/account`)}`);

export function ChangeEmail() {
  const user = useQuery(userQuery);
  return (
    <AccountPage title="Change your e-mail">
      <Content query={user} />
      <p className="text-sm">
        <TextLink href="/account">Back to your profile</TextLink>
      </p>
    </AccountPage>
  );
}

type ContentProps = { query: ReturnType<typeof useQuery<User>> };

function Content({ query }: ContentProps) {
  if (query.isPending) return <Skeleton label="Loading your address" />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const { email = "", new_email: pending } = query.data;
  return (
    <>
      {pending && <Pending current={email} pending={pending} />}
      <NewAddress current={email} />
    </>
  );
}

type NewProps = { current: string };

function NewAddress({ current }: NewProps) {
  const cache = useQueryClient();
  const guarded = useStepUp();
  const form = useForm({
    values: { email: "" },
    screen: "email",
    checks: {
      email: (value) =>
        checkEmail(value) ?? (value.trim() === current ? "This is your address already." : undefined),
    },
    submit: async ({ email }) => {
      const { user } = await guarded(() =>
        done(auth.updateUser({ email: email.trim() }, { emailRedirectTo })),
      );
      cache.setQueryData(userQuery.queryKey, user);
      form.set("email", "");
      toast(user.new_email ? "We sent you a mail." : "Your e-mail address is changed.");
    },
  });
  return (
    <Card title="New address" lead={current && <>Your current address is {current}.</>}>
      <Form form={form} label="Change your e-mail">
        <EmailField {...form.field("email")} label="New e-mail" autoComplete="email" />
        <div>
          <Button type="submit" isBusy={form.isBusy} busyLabel="Sending…">
            Change e-mail
          </Button>
        </div>
      </Form>
    </Card>
  );
}

type PendingProps = { current: string; pending: string };

function Pending({ current, pending }: PendingProps) {
  const go = useGo();
  const cache = useQueryClient();
  const [isHalfDone, setHalfDone] = useState(false);
  const isDouble = settings.email.doubleConfirm && current !== "";
  return (
    <Card title={isDouble ? "Confirm from both addresses" : "Confirm from the new address"}>
      <p className="text-soft">
        We sent a mail to {pending}
        {isDouble && ` and to ${current}`}. Open the link in {isDouble ? "each of them" : "it"}, or type the
        code that came to {pending}. Ignore the mail to keep your address.
      </p>
      {isHalfDone && (
        <Notice tone="good" role="status">
          One confirmation received. Now open the link we sent to your other address.
        </Notice>
      )}
      <CodeForm
        label="Code from the mail"
        length={settings.email.codeLength}
        submitLabel="Confirm"
        onResend={() =>
          done(auth.resend({ type: "email_change", email: pending, options: { emailRedirectTo } }))
        }
        onVerify={async (token) => {
          const { session } = await done(auth.verifyOtp({ type: "email_change", email: pending, token }));
          if (!session) return setHalfDone(true);
          await cache.invalidateQueries(userQuery);
          toast("Your e-mail address is changed.");
          go.to("/account");
        }}
      />
    </Card>
  );
}
