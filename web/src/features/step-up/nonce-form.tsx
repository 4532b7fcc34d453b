import { useEffect, useState } from "react";

import { Button } from "../../components/button";
import { CodeField } from "../../components/field";
import { Form } from "../../components/form";
import { Notice } from "../../components/notice";
import { ResendButton } from "../../components/resend-button";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { done, Failure } from "../../lib/failure";
import { useSession } from "../../lib/session";
import { settings } from "../../lib/settings";
import { useAction } from "../../lib/use-action";
import { useForm } from "../../lib/use-form";
import { checkCode } from "../../lib/validation";
import * as texts from "../../texts";

type Props = {
  /** Why the server asks. */
  code: string;
  onNonce: (nonce: string) => void;
};

/** "Confirm it's you": a code sent to whoever is signed in. */
export function NonceForm({ code: reason, onNonce }: Props) {
  const wasWrong = reason === "reauthentication_not_valid";
  const session = useSession();
  const address = session?.user.email || session?.user.phone || "";
  const { codeLength } = settings.email;
  const send = () => done(auth.reauthenticate());
  const [isSent, setSent] = useState(wasWrong);
  const first = useAction(async () => {
    await send();
    setSent(true);
  });
  // The server sends the code when this opens; after a wrong code the last one still counts.
  useEffect(() => {
    if (!wasWrong) void first.run();
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  const form = useForm({
    values: { code: "" },
    checks: { code: (code) => checkCode(code, codeLength) },
    submit: async ({ code }) => onNonce(code),
  });
  const said = errorText(new Failure(reason, ""));
  const wrong = said.place === "field" ? said.text : undefined;
  const field = form.field("code");
  return (
    <>
      <p className="text-soft">{isSent ? texts.stepUp.sentTo(address) : texts.stepUp.isSending(address)}</p>
      {first.failure && (
        <Notice tone="danger" role="alert">
          {errorText(first.failure).text}
        </Notice>
      )}
      <Form form={form} label={texts.stepUp.title}>
        <CodeField
          {...field}
          error={field.error ?? (field.value === "" ? wrong : undefined)}
          label={texts.common.code}
          length={codeLength}
          onComplete={(code) => void form.submit({ code })}
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
        />
        <Button type="submit" isBusy={form.isBusy}>
          {texts.stepUp.confirm}
        </Button>
      </Form>
      <ResendButton label={texts.common.sendNewCode} onSend={send} />
    </>
  );
}
