import { useRef, useState } from "react";

import { Button } from "../../../components/button";
import { CodeField } from "../../components/fields";
import { Form } from "../../../components/form";
import { ResendButton } from "../../components/resend-button";
import { useForm } from "../../../lib/use-form";
import { checkCode } from "../../lib/validation";
import { texts } from "../../texts";

type Props = {
  label: string;
  length: number;
  onVerify: (code: string) => Promise<void>;
  onResend: () => Promise<unknown>;
  submitLabel?: string;
  /** Seconds until another message can be requested. */
  resendWaitSeconds?: number;
};

/** Failed attempts after which the form suggests a new code. */
const attemptsBeforeHint = 5;

/** Form for a one-time code from an e-mail or text message. */
export function CodeForm({
  label,
  length,
  onVerify,
  onResend,
  submitLabel = texts.common.continue,
  resendWaitSeconds = 0,
}: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [failures, setFailures] = useState(0);
  const form = useForm({
    values: { code: "" },
    screen: "code",
    checks: { code: (code) => checkCode(code, length) },
    submit: ({ code }) => onVerify(code),
    onFailure: () => {
      setFailures((count) => count + 1);
      return () => input.current?.select();
    },
  });
  return (
    <>
      <Form
        form={form}
        label={label}
        help={failures >= attemptsBeforeHint && <p>{texts.codeForm.stillWrong}</p>}
      >
        <CodeField
          {...form.field("code")}
          ref={input}
          label={label}
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
      <ResendButton
        label={texts.common.sendNewCode}
        initialWaitSeconds={resendWaitSeconds}
        onSend={onResend}
      />
    </>
  );
}
