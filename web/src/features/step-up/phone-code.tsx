import type { Factor } from "@supabase/auth-js";
import { useEffect, useRef, useState } from "react";

import { Button } from "../../components/button";
import { CodeField } from "../../components/field";
import { Form } from "../../components/form";
import { Notice } from "../../components/notice";
import { pause, ResendButton } from "../../components/resend-button";
import { auth } from "../../lib/auth-client";
import { errorText, isSendLimit, secondsToWait } from "../../lib/error-text";
import { done, Failure, toFailure } from "../../lib/failure";
import { keepChallenge, keptChallenge } from "../../lib/kept-challenge";
import { settings } from "../../lib/settings";
import { useAction } from "../../lib/use-action";
import { useForm } from "../../lib/use-form";
import { checkCode } from "../../lib/validation";
import * as texts from "../../texts";

type Props = {
  factor: Pick<Factor, "id" | "friendly_name">;
  onDone: () => void;
};

const length = settings.mfa.phoneCodeLength;

/** A code sent to a phone when this appears. */
export function PhoneCode({ factor, onDone }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [challengeId, setChallengeId] = useState<string | null>(null);
  /** Until another message may be asked for; counted anew whenever one was sent from here. */
  const [wait, setWait] = useState({ seconds: 0, count: 0 });
  const send = async () => {
    const { id } = await done(auth.mfa.challenge({ factorId: factor.id, channel: "sms" }));
    setChallengeId(id);
    keepChallenge(factor.id, id);
  };
  const first = useAction(async () => {
    const startWait = (seconds: number) => setWait(({ count }) => ({ seconds, count: count + 1 }));
    try {
      await send();
      startWait(pause);
    } catch (error) {
      const caught = toFailure(error);
      if (!isSendLimit(caught)) throw caught;
      startWait(secondsToWait(caught));
      // The page was loaded again: the message that was sent before is the one to wait for.
      const kept = keptChallenge(factor.id);
      if (kept === null) throw caught;
      setChallengeId(kept);
    }
  });
  // The message is sent by the server, once.
  // oxlint-disable-next-line react/exhaustive-deps
  useEffect(() => void first.run(), []);

  const form = useForm({
    values: { code: "" },
    screen: "mfa",
    checks: { code: (code) => checkCode(code, length) },
    submit: async ({ code }) => {
      if (!challengeId) throw new Failure("mfa_challenge_expired", "");
      await done(auth.mfa.verify({ factorId: factor.id, challengeId, code }));
      onDone();
    },
    onFailure: (failure) => {
      if (failure.code === "mfa_challenge_expired") void first.run();
      return () => input.current?.select();
    },
  });
  return (
    <>
      {first.failure && (
        <Notice tone="danger" role="alert">
          {errorText(first.failure, "mfa").text}
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
      <ResendButton key={wait.count} wait={wait.seconds} label={texts.common.sendNewCode} onSend={send} />
    </>
  );
}
