import { KeyRound } from "lucide-react";
import { useEffect, useState } from "react";

import { Button } from "../../../components/button";
import { LastUsed } from "../../components/last-used";
import { Notice } from "../../../components/notice";
import { auth } from "../../lib/auth-client";
import { useBannedHandler } from "../../lib/banned";
import { captchaOption } from "../../lib/captcha";
import { errorText } from "../../lib/error-text";
import { unwrap, type Failure, toFailure } from "../../../lib/failure";
import { lastSignInMethod, saveLastSignInMethod } from "../../lib/last-sign-in-method";
import { settings } from "../../lib/settings";
import { useWebAuthnCeremony } from "../../lib/webauthn-ceremony";
import { texts } from "../../texts";

/** The user cancelled, or another ceremony replaced this one. */
const isAbort = ({ code, message }: Failure) =>
  code === "cancelled" ||
  /NotAllowedError|AbortError|ERROR_CEREMONY_ABORTED/.test(`${code} ${message}`) ||
  /not allowed|timed out|abort|cancel/i.test(message);

/** Of the request for a challenge; the user has done nothing yet. */
const requestErrors = ["offline", "server_error", "over_request_rate_limit"];

/** Codes of the browser are not lower case: the origin may not use this passkey, for example. */
const isBackgroundError = (failure: Failure) =>
  isAbort(failure) || requestErrors.includes(failure.code) || !/^[a-z_]+$/.test(failure.code);

async function signIn(
  beginCeremony: () => AbortSignal,
  options: { mediation?: CredentialMediationRequirement } = {},
  isRetry = false,
): Promise<void> {
  try {
    const captcha = await captchaOption();
    await unwrap(auth.signInWithPasskey({ options: { ...options, ...captcha, signal: beginCeremony() } }));
    saveLastSignInMethod("passkey");
  } catch (error) {
    const failure = toFailure(error);
    // The challenge may expire while the user decides: retry once with a new one.
    if (failure.code === "webauthn_challenge_expired" && !isRetry)
      return signIn(beginCeremony, options, true);
    throw failure;
  }
}

/** Passkey sign-in: a button, and the browser's autofill in the e-mail field (conditional mediation). */
export function PasskeyButton() {
  const handleBanned = useBannedHandler();
  const beginCeremony = useWebAuthnCeremony();
  const [isBusy, setBusy] = useState(false);
  const [notice, setNotice] = useState<{ tone: "info" | "danger"; text: string } | null>(null);

  const fail = (failure: Failure) => {
    if (!handleBanned(failure)) setNotice({ tone: "danger", text: errorText(failure).text });
  };

  // Conditional mediation: pending in the background until the user picks a passkey from autofill.
  useEffect(() => {
    void (async () => {
      // It would show the CAPTCHA on page load.
      if (settings.captcha) return;
      const isAvailable = await PublicKeyCredential.isConditionalMediationAvailable?.();
      if (!isAvailable) return;
      await signIn(beginCeremony, { mediation: "conditional" }).catch((error: unknown) => {
        const failure = toFailure(error);
        // What the user did not ask for does not fail visibly.
        if (!isBackgroundError(failure)) fail(failure);
      });
    })();
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);

  const start = async () => {
    setBusy(true);
    setNotice(null);
    try {
      await signIn(beginCeremony);
    } catch (error) {
      const failure = toFailure(error);
      if (isAbort(failure)) setNotice({ tone: "info", text: texts.signIn.noPasskeyUsed });
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
        {lastSignInMethod() === "passkey" && <LastUsed />}
      </Button>
      {notice && (
        <Notice tone={notice.tone} role={notice.tone === "danger" ? "alert" : "status"}>
          {notice.text}
        </Notice>
      )}
    </div>
  );
}
