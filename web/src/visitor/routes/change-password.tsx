import type { User } from "@supabase/auth-js";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { Card } from "../../components/card";
import { PasswordField } from "../components/fields";
import { Form } from "../../components/form";
import { NewPasswordField } from "../components/new-password-field";
import { Notice } from "../../components/notice";
import { CardSkeleton, LoadError } from "../../components/states";
import { toast } from "../components/toast";
import { useStepUp } from "../features/step-up/step-up";
import { auth } from "../lib/auth-client";
import { errorText } from "../lib/error-text";
import { unwrap, Failure } from "../../lib/failure";
import { getPageState, nextFromSearch, useNavigation } from "../lib/navigation";
import { decodeClaims, useSession } from "../lib/session";
import { settings } from "../lib/settings";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../lib/user";
import { checkNewPassword } from "../lib/validation";
import { dismissWeakPasswordWarning } from "../lib/weak-password";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

const hasPassword = (user: User) => user.identities?.some(({ provider }) => provider === "email") ?? false;

/** The session for which the server required the current password; it will again. */
let sessionRequiringCurrent: unknown;

const isSso = (user: User) => String(user.app_metadata.provider ?? "").startsWith("sso:");

export function ChangePassword() {
  const user = useQuery(userQuery);
  const isFirst = getPageState().kind === "first" || (!!user.data && !hasPassword(user.data));
  return (
    <AccountPage title={isFirst ? texts.changePassword.titleFirst : texts.changePassword.title}>
      <Content query={user} />
    </AccountPage>
  );
}

type ContentProps = { query: ReturnType<typeof useQuery<User>> };

function Content({ query }: ContentProps) {
  if (query.isPending) return <CardSkeleton label={texts.common.loading} />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  if (isSso(query.data)) {
    return <Notice tone="info">{errorText(new Failure("user_sso_managed", "")).text}</Notice>;
  }
  return <PasswordForm user={query.data} />;
}

function PasswordForm({ user }: { user: User }) {
  const withStepUp = useStepUp();
  const nav = useNavigation();
  const hasNext = nextFromSearch(useSearch()) !== null;
  const session = useSession();
  const sessionId = session ? decodeClaims(session)["session_id"] : null;
  // Only the server knows whether the user has a password and has to enter it.
  const [needsCurrent, setNeedsCurrent] = useState(!!sessionId && sessionId === sessionRequiringCurrent);
  const form = useForm({
    values: { current: "", password: "" },
    screen: "password",
    checks: {
      current: (value) => (needsCurrent && !value ? texts.checks.currentPasswordMissing : undefined),
      password: (value) => checkNewPassword(value, settings.password.minLength),
    },
    submit: async ({ current, password }) => {
      await withStepUp((nonce) =>
        unwrap(
          auth.updateUser({
            password,
            ...(nonce === undefined ? {} : { nonce }),
            ...(needsCurrent ? { current_password: current } : {}),
          }),
        ),
      );
      dismissWeakPasswordWarning();
      form.set("current", "");
      form.set("password", "");
      toast(texts.common.passwordChanged);
      if (hasNext) nav.toNext();
    },
    onFailure: ({ code }) => {
      if (!code.startsWith("current_password")) return;
      sessionRequiringCurrent = sessionId;
      setNeedsCurrent(true);
    },
  });
  return (
    <Card>
      <Form form={form} label={texts.changePassword.title}>
        <input
          type="email"
          name="username"
          autoComplete="username"
          value={user.email ?? ""}
          readOnly
          hidden
        />
        {needsCurrent && (
          <PasswordField
            {...form.field("current")}
            label={texts.changePassword.current}
            autoComplete="current-password"
          />
        )}
        <NewPasswordField {...form.field("password")} label={texts.common.newPassword} />
        <p className="text-sm text-soft">{texts.changePassword.consequences}</p>
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.saving}>
            {texts.changePassword.save}
          </Button>
          {hasNext && (
            <Button variant="quiet" onClick={() => nav.toNext()}>
              {texts.changePassword.notNow}
            </Button>
          )}
        </div>
      </Form>
    </Card>
  );
}
