import type { Factor } from "@supabase/auth-js";
import { useEffect, useRef, useState } from "react";

import { Button } from "../../../components/button";
import { CodeField } from "../../components/fields";
import { Form } from "../../../components/form";
import { Notice } from "../../../components/notice";
import { resendDelaySeconds, ResendButton } from "../../components/resend-button";
import { auth } from "../../lib/auth-client";
import { errorText, isSendRateLimit, retryAfterSeconds } from "../../lib/error-text";
import { unwrap, Failure, toFailure } from "../../../lib/failure";
import { settings } from "../../lib/settings";
import { saveSmsChallenge, loadSmsChallenge } from "../../lib/sms-challenge";
import { useAction } from "../../../lib/use-action";
import { useForm } from "../../../lib/use-form";
import { checkCode } from "../../lib/validation";
import { texts } from "../../texts";

type Props = {
  factor: Pick<Factor, "id" | "friendly_name">;
  onDone: () => void;
};

const length = settings.mfa.phoneCodeLength;

/** Sends a code to the phone on mount, and verifies it. */
export function PhoneCode({ factor, onDone }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [challengeId, setChallengeId] = useState<string | null>(null);
  /** Resend delay; `count` remounts the button to restart its countdown. */
  const [resendWait, setResendWait] = useState({ seconds: 0, count: 0 });
  const send = async () => {
    const { id } = await unwrap(auth.mfa.challenge({ factorId: factor.id, channel: "sms" }));
    setChallengeId(id);
    saveSmsChallenge(factor.id, id);
  };
  const initialSend = useAction(async () => {
    const startWait = (seconds: number) => setResendWait(({ count }) => ({ seconds, count: count + 1 }));
    try {
      await send();
      startWait(resendDelaySeconds);
    } catch (error) {
      const caught = toFailure(error);
      if (!isSendRateLimit(caught)) throw caught;
      startWait(retryAfterSeconds(caught));
      // After a reload the rate limit still applies: the previous message is still valid.
      const saved = loadSmsChallenge(factor.id);
      if (saved === null) throw caught;
      setChallengeId(saved);
    }
  });
  // Send one message on mount.
  // oxlint-disable-next-line react/exhaustive-deps
  useEffect(() => void initialSend.run(), []);

  const form = useForm({
    values: { code: "" },
    screen: "mfa",
    checks: { code: (code) => checkCode(code, length) },
    submit: async ({ code }) => {
      if (!challengeId) throw new Failure("mfa_challenge_expired", "");
      await unwrap(auth.mfa.verify({ factorId: factor.id, challengeId, code }));
      onDone();
    },
    onFailure: (failure) => {
      if (failure.code === "mfa_challenge_expired") void initialSend.run();
      return () => input.current?.select();
    },
  });
  return (
    <>
      {initialSend.failure && (
        <Notice tone="danger" role="alert">
          {errorText(initialSend.failure, "mfa").text}
        </Notice>
      )}
      <Form form={form} label={texts.secondStep.phoneForm}>
        <CodeField
          {...form.field("code")}
          ref={input}
          label={texts.secondStep.phoneCode}
          hint={
            challengeId && factor.friendly_name ? texts.secondStep.sentTo(factor.friendly_name) : undefined
          }
          length={length}
          onComplete={(code) => void form.submit({ code })}
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
        />
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.codeForm.checking} className="w-full">
          {texts.common.continue}
        </Button>
      </Form>
      <ResendButton
        key={resendWait.count}
        initialWaitSeconds={resendWait.seconds}
        label={texts.common.sendNewCode}
        onSend={send}
      />
    </>
  );
}
