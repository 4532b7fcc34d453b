import { KeyRound } from "lucide-react";
import { useEffect, useState } from "react";

import { Button } from "../../components/button";
import { LastUsed } from "../../components/last-used";
import { Notice } from "../../components/notice";
import { auth } from "../../lib/auth-client";
import { useBanned } from "../../lib/banned";
import { captchaOption } from "../../lib/captcha";
import { useCeremony } from "../../lib/ceremony";
import { errorText } from "../../lib/error-text";
import { done, type Failure, toFailure } from "../../lib/failure";
import { lastMethod, rememberMethod } from "../../lib/last-method";
import { settings } from "../../lib/settings";
import * as texts from "../../texts";

export const supportsPasskeys = () => typeof window !== "undefined" && "PublicKeyCredential" in window;

/** Nobody chose a passkey, or another ceremony took its place. */
const isAbort = ({ code, message }: Failure) =>
  code === "cancelled" ||
  /NotAllowedError|AbortError|ERROR_CEREMONY_ABORTED/.test(`${code} ${message}`) ||
  /not allowed|timed out|abort|cancel/i.test(message);

async function signIn(
  begin: () => AbortSignal,
  options: { mediation?: CredentialMediationRequirement } = {},
  isSecond = false,
): Promise<void> {
  try {
    const captcha = await captchaOption();
    await done(auth.signInWithPasskey({ options: { ...options, ...captcha, signal: begin() } }));
    rememberMethod("passkey");
  } catch (error) {
    const failure = toFailure(error);
    // The challenge may have waited too long for somebody to decide: once, a new one is made.
    if (failure.code === "webauthn_challenge_expired" && !isSecond) return signIn(begin, options, true);
    throw failure;
  }
}

/** A button for passkeys; the browser also offers them in the field of the address. */
export function PasskeyButton() {
  const isBanned = useBanned();
  const begin = useCeremony();
  const [isBusy, setBusy] = useState(false);
  const [said, setSaid] = useState<{ tone: "info" | "danger"; text: string } | null>(null);

  const fail = (failure: Failure) => {
    if (!isBanned(failure)) setSaid({ tone: "danger", text: errorText(failure).text });
  };

  // The browser's autofill waits in the background until somebody picks a passkey there.
  useEffect(() => {
    void (async () => {
      // A check nobody asked for would greet everybody who opens the page.
      if (settings.captcha) return;
      const isOffered = await PublicKeyCredential.isConditionalMediationAvailable?.();
      if (!isOffered) return;
      await signIn(begin, { mediation: "conditional" }).catch((error: unknown) => {
        const failure = toFailure(error);
        if (!isAbort(failure)) fail(failure);
      });
    })();
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);

  const start = async () => {
    setBusy(true);
    setSaid(null);
    try {
      await signIn(begin);
    } catch (error) {
      const failure = toFailure(error);
      if (isAbort(failure)) setSaid({ tone: "info", text: texts.signIn.noPasskeyUsed });
      else fail(failure);
    } finally {
      setBusy(false);
    }
  };

  return (
    <div className="grid gap-3">
      <Button
        variant="secondary"
        className="w-full"
        isBusy={isBusy}
        busyLabel={texts.signIn.waitingForPasskey}
        onClick={() => void start()}
      >
        <KeyRound aria-hidden className="size-4" />
        {texts.signIn.withPasskey}
        {lastMethod() === "passkey" && <LastUsed />}
      </Button>
      {said && (
        <Notice tone={said.tone} role={said.tone === "danger" ? "alert" : "status"}>
          {said.text}
        </Notice>
      )}
    </div>
  );
}
