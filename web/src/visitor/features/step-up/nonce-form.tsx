import { useEffect, useState } from "react";

import { Button } from "../../../components/button";
import { CodeField } from "../../components/fields";
import { Form } from "../../../components/form";
import { Notice } from "../../../components/notice";
import { ResendButton } from "../../components/resend-button";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { unwrap, Failure } from "../../../lib/failure";
import { useSession } from "../../lib/session";
import { settings } from "../../lib/settings";
import { useAction } from "../../../lib/use-action";
import { useForm } from "../../../lib/use-form";
import { checkCode } from "../../lib/validation";
import { texts } from "../../texts";

type Props = {
  /** The error code that required the reauthentication. */
  code: string;
  onNonce: (nonce: string) => void;
};

/** "Confirm it's you": reauthentication with a code sent to the user. */
export function NonceForm({ code: reason, onNonce }: Props) {
  const wasWrong = reason === "reauthentication_not_valid";
  const session = useSession();
  const address = session?.user.email || session?.user.phone || "";
  const { codeLength } = settings.email;
  const send = () => unwrap(auth.reauthenticate());
  const [isSent, setSent] = useState(wasWrong);
  const initialSend = useAction(async () => {
    await send();
    setSent(true);
  });
  // Send a code on mount; after a wrong code the previous one is still valid.
  useEffect(() => {
    if (!wasWrong) void initialSend.run();
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  const form = useForm({
    values: { code: "" },
    checks: { code: (code) => checkCode(code, codeLength) },
    submit: async ({ code }) => onNonce(code),
  });
  const message = errorText(new Failure(reason, ""));
  const reasonText = message.place === "field" ? message.text : undefined;
  const field = form.field("code");
  return (
    <>
      <p className="text-soft">{isSent ? texts.stepUp.sentTo(address) : texts.stepUp.isSending(address)}</p>
      {initialSend.failure && (
        <Notice tone="danger" role="alert">
          {errorText(initialSend.failure).text}
        </Notice>
      )}
      <Form form={form} label={texts.stepUp.title}>
        <CodeField
          {...field}
          error={field.error ?? (field.value === "" ? reasonText : undefined)}
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
