import type { User } from "@supabase/auth-js";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { Card } from "../../components/card";
import { PasswordField } from "../../components/field";
import { Form } from "../../components/form";
import { NewPasswordField } from "../../components/new-password-field";
import { Notice } from "../../components/notice";
import { LoadError, Skeleton } from "../../components/states";
import { toast } from "../../components/toast";
import { useStepUp } from "../../features/step-up/step-up";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { done, Failure } from "../../lib/failure";
import { settings } from "../../lib/settings";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../../lib/user";
import { checkNewPassword } from "../../lib/validation";
import { endAdvice } from "../../lib/weak-password";
import { AccountPage } from "../account-layout";

const hasPassword = (user: User) => user.identities?.some(({ provider }) => provider === "email") ?? false;

const isSso = (user: User) => String(user.app_metadata.provider ?? "").startsWith("sso:");

export function ChangePassword() {
  const user = useQuery(userQuery);
  const isSet = user.data ? hasPassword(user.data) : true;
  return (
    <AccountPage title={isSet ? "Change your password" : "Set a password"}>
      <Content query={user} />
    </AccountPage>
  );
}

type ContentProps = { query: ReturnType<typeof useQuery<User>> };

function Content({ query }: ContentProps) {
  if (query.isPending) return <Skeleton label="Loading" />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  if (isSso(query.data)) {
    return <Notice tone="info">{errorText(new Failure("user_sso_managed", "")).text}</Notice>;
  }
  return <PasswordForm user={query.data} />;
}

function PasswordForm({ user }: { user: User }) {
  const guarded = useStepUp();
  const [asksCurrent, setAsksCurrent] = useState(settings.password.needsCurrent && hasPassword(user));
  const form = useForm({
    values: { current: "", password: "" },
    screen: "password",
    checks: {
      current: (value) => (asksCurrent && !value ? "Enter your current password." : undefined),
      password: (value) => checkNewPassword(value, settings.password.minLength),
    },
    submit: async ({ current, password }) => {
      await guarded((nonce) =>
        done(
          auth.updateUser({
            password,
            ...(nonce === undefined ? {} : { nonce }),
            ...(asksCurrent ? { current_password: current } : {}),
          }),
        ),
      );
      endAdvice();
      form.set("current", "");
      form.set("password", "");
      toast("Password changed. Your other devices were signed out.");
    },
    onFailure: ({ code }) => {
      if (code.startsWith("current_password")) setAsksCurrent(true);
    },
  });
  return (
    <Card>
      <Form form={form} label="Change your password">
        <input
          type="email"
          name="username"
          autoComplete="username"
          value={user.email ?? ""}
          readOnly
          hidden
        />
        {asksCurrent && (
          <PasswordField
            {...form.field("current")}
            label="Current password"
            autoComplete="current-password"
          />
        )}
        <NewPasswordField {...form.field("password")} label="New password" />
        <p className="text-sm text-soft">
          Your other devices are signed out, and links we sent you before no longer work.
        </p>
        <div>
          <Button type="submit" isBusy={form.isBusy} busyLabel="Saving…">
            Save password
          </Button>
        </div>
      </Form>
    </Card>
  );
}
