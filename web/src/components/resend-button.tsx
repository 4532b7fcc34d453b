import { useState } from "react";

import { errorText, isSendLimit, secondsToWait } from "../lib/error-text";
import { useAction } from "../lib/use-action";
import { toFailure } from "../lib/failure";
import { useCountdown } from "../lib/use-countdown";
import * as texts from "../texts";
import { Button } from "./button";

type Props = {
  onSend: () => Promise<unknown>;
  label?: string;
  /** Seconds until the first message after this appears. */
  wait?: number;
};

/** Between two messages, in seconds. */
export const pause = 60;

/** Asks for another message; disabled while the server would refuse (client contract U11). */
export function ResendButton({ onSend, label = texts.common.sendAgain, wait = 0 }: Props) {
  const countdown = useCountdown(wait);
  const [isSent, setSent] = useState(false);
  const { run, isBusy, failure } = useAction(async () => {
    try {
      await onSend();
      setSent(true);
      countdown.start(pause);
    } catch (error) {
      const caught = toFailure(error);
      setSent(false);
      if (isSendLimit(caught)) countdown.start(secondsToWait(caught));
      throw caught;
    }
  });
  // A limit is over with its count-down.
  const shown = failure && isSendLimit(failure) && countdown.left === 0 ? null : failure;
  // Said every fifteen seconds: each second would talk over everything else.
  const announced = Math.ceil(countdown.left / 15) * 15;
  return (
    <div className="grid gap-1">
      <Button
        variant="quiet"
        size="text"
        className="justify-self-start"
        isBusy={isBusy}
        busyLabel={texts.common.sending}
        disabled={countdown.left > 0}
        onClick={() => void run()}
      >
        {countdown.left > 0 ? texts.common.waitToSend(label, countdown.left) : label}
      </Button>
      <p role="status" className="text-sm text-soft">
        {isSent && countdown.left > 0 && <span>{texts.common.sent} </span>}
        {countdown.left > 0 && <span className="sr-only">{texts.common.canAskAgain(announced)}</span>}
      </p>
      {shown && (
        <p role="alert" className="text-sm font-medium text-danger">
          {errorText(shown).text}
        </p>
      )}
    </div>
  );
}
