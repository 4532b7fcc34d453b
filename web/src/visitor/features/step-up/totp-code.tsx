import type { Factor } from "@supabase/auth-js";
import { useRef } from "react";

import { Button } from "../../../components/button";
import { CodeField } from "../../components/fields";
import { Form } from "../../../components/form";
import { auth } from "../../lib/auth-client";
import { unwrap } from "../../../lib/failure";
import { useForm } from "../../../lib/use-form";
import { checkCode } from "../../lib/validation";
import { texts } from "../../texts";

type Props = {
  factor: Pick<Factor, "id" | "friendly_name">;
  onDone: () => void;
  submitLabel?: string;
};

const length = 6;

/** Verifies a code from an authenticator app. */
export function TotpCode({ factor, onDone, submitLabel = texts.common.continue }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const form = useForm({
    values: { code: "" },
    screen: "mfa",
    checks: { code: (code) => checkCode(code, length) },
    submit: async ({ code }) => {
      await unwrap(auth.mfa.challengeAndVerify({ factorId: factor.id, code }));
      onDone();
    },
    onFailure: () => {
      return () => input.current?.select();
    },
  });
  return (
    <Form form={form} label={texts.secondStep.appForm}>
      <CodeField
        {...form.field("code")}
        ref={input}
        label={texts.secondStep.appCode}
        hint={factor.friendly_name ? texts.secondStep.savedAs(factor.friendly_name) : undefined}
        length={length}
        onComplete={(code) => void form.submit({ code })}
        // Entering the code is the purpose of this page.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
      />
      <Button type="submit" isBusy={form.isBusy} busyLabel={texts.codeForm.checking} className="w-full">
        {submitLabel}
      </Button>
    </Form>
  );
}
