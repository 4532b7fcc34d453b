import { useState } from "react";

import { errorText, isSendRateLimit, retryAfterSeconds } from "../lib/error-text";
import { toFailure } from "../../lib/failure";
import { useAction } from "../../lib/use-action";
import { useCountdown } from "../../lib/use-countdown";
import { texts } from "../texts";
import { Button } from "../../components/button";

type Props = {
  onSend: () => Promise<unknown>;
  label?: string;
  /** Seconds until the button is enabled after mount. */
  initialWaitSeconds?: number;
};

/** Minimum time between two messages. */
export const resendDelaySeconds = 60;

/** Requests another message; disabled while the server's rate limit applies (client contract U11). */
export function ResendButton({ onSend, label = texts.common.sendAgain, initialWaitSeconds = 0 }: Props) {
  const countdown = useCountdown(initialWaitSeconds);
  const [isSent, setSent] = useState(false);
  const { run, isBusy, failure } = useAction(async () => {
    try {
      await onSend();
      setSent(true);
      countdown.start(resendDelaySeconds);
    } catch (error) {
      const caught = toFailure(error);
      setSent(false);
      if (isSendRateLimit(caught)) countdown.start(retryAfterSeconds(caught));
      throw caught;
    }
  });
  // Hide the rate limit error once its countdown ends.
  const shown = failure && isSendRateLimit(failure) && countdown.secondsLeft === 0 ? null : failure;
  // Announced every 15 seconds: every second would drown out everything else in a screen reader.
  const announcedSeconds = Math.ceil(countdown.secondsLeft / 15) * 15;
  return (
    <div className="grid gap-1">
      <Button
        variant="quiet"
        size="text"
        className="justify-self-start"
        isBusy={isBusy}
        busyLabel={texts.common.sending}
        disabled={countdown.secondsLeft > 0}
        onClick={() => void run()}
      >
        {countdown.secondsLeft > 0 ? texts.common.waitToSend(label, countdown.secondsLeft) : label}
      </Button>
      <p role="status" className="text-sm text-soft">
        {isSent && countdown.secondsLeft > 0 && <span>{texts.common.sent} </span>}
        {countdown.secondsLeft > 0 && (
          <span className="sr-only">{texts.common.canAskAgain(announcedSeconds)}</span>
        )}
      </p>
      {shown && (
        <p role="alert" className="text-sm font-medium text-danger">
          {errorText(shown).text}
        </p>
      )}
    </div>
  );
}
