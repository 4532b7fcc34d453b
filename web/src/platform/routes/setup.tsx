// First run: the owner, then a second factor (N20).

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { buttonClass, Button } from "../../components/button";
import { CodeBlock } from "../../components/code-block";
import { Bone, Loading, Region } from "../../components/data-states";
import { SecretField, TextField } from "../../components/field";
import { Form } from "../../components/form";
import { throwOnError } from "../../lib/failure";
import { useForm } from "../../lib/use-form";
import { createOwner, setupQuery } from "../features/setup/api";
import EnrolFactor from "../features/setup/enrol-factor";
import { forgetSetupToken, takeSetupToken } from "../features/setup/setup-token";
import { accountPage, auth } from "../lib/auth";
import { Mark } from "../shell/mark";
import { PlainPage } from "../shell/screen";
import { settings } from "../settings";
import { texts } from "../texts";

const t = texts.setup;
const minPasswordLength = 12;

export default function Setup() {
  const setup = useQuery({ ...setupQuery, refetchOnWindowFocus: false });
  const [isCreated, setCreated] = useState(false);
  const [token] = useState(() => takeSetupToken(window));
  const navigate = useNavigate();
  const client = useQueryClient();
  const finish = () => {
    client.clear();
    void navigate({ to: "/", replace: true });
  };

  if (isCreated)
    return setup.data?.mfa_required === false ? (
      <Finished onDone={finish} />
    ) : (
      <EnrolFactor onDone={finish} />
    );
  return (
    <Region
      query={setup}
      errorTitle={t.notLoaded}
      skeleton={
        <Loading label={t.checking}>
          <div className="mx-auto grid max-w-md gap-4 px-4 py-[12vh]">
            <Bone className="h-8 w-64" />
            <Bone className="h-5 w-80 max-w-full" />
          </div>
        </Loading>
      }
    >
      {(state) => {
        if (!state.needed) return <AlreadySetUp />;
        if (token === null) return <NeedsLink />;
        return <OwnerForm token={token} instance={state.instance} onCreated={() => setCreated(true)} />;
      }}
    </Region>
  );
}

function Finished({ onDone }: { onDone: () => void }) {
  useEffect(onDone, [onDone]);
  return null;
}

function AlreadySetUp() {
  return (
    <PlainPage title={t.doneTitle} lead={t.doneText}>
      <div>
        <a href={accountPage("/sign-in", `${settings.mount}/`)} className={buttonClass()}>
          {t.signIn}
        </a>
      </div>
    </PlainPage>
  );
}

function NeedsLink() {
  return (
    <PlainPage title={t.linkTitle} lead={t.linkText}>
      <CodeBlock code={t.linkCommand} label={t.linkTitle} />
    </PlainPage>
  );
}

type OwnerProps = { token: string; instance: string; onCreated: () => void };

function OwnerForm({ token, instance, onCreated }: OwnerProps) {
  const form = useForm({
    values: { instance, email: "", password: "" },
    checks: {
      email: (email) => (/^[^\s@]+@[^\s@]+$/.test(email.trim()) ? undefined : t.emailWrong),
      password: (password) =>
        [...password].length < minPasswordLength ? t.passwordShort(minPasswordLength) : undefined,
    },
    submit: async ({ email, password, instance: name }) => {
      await createOwner({ token, email: email.trim(), password, instance: name.trim() });
      forgetSetupToken(window);
      await throwOnError(auth.signInWithPassword({ email: email.trim(), password }));
      onCreated();
    },
  });
  return (
    <PlainPage title={t.title} lead={t.lead}>
      <Mark className="order-first size-9" />
      <Form form={form} label={t.title}>
        <TextField
          {...form.field("instance")}
          label={t.instance}
          hint={t.instanceHint}
          autoComplete="organization"
        />
        <TextField
          {...form.field("email")}
          label={t.email}
          type="email"
          inputMode="email"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
        />
        <SecretField
          {...form.field("password")}
          label={t.password}
          revealLabel={t.showPassword}
          hint={t.passwordHint}
          autoComplete="new-password"
        />
        <div>
          <Button type="submit" isBusy={form.isBusy} busyLabel={t.creating}>
            {t.create}
          </Button>
        </div>
      </Form>
    </PlainPage>
  );
}
