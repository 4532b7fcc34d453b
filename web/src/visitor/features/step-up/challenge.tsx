import type { Factor } from "@supabase/auth-js";
import { KeyRound, MessageSquare, Smartphone } from "lucide-react";
import { useEffect, useState } from "react";

import { Button } from "../../../components/button";
import { Notice } from "../../../components/notice";
import { LoadError, Skeleton } from "../../../components/states";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { unwrap, Failure } from "../../../lib/failure";
import { useAction } from "../../../lib/use-action";
import { useWebAuthnCeremony } from "../../lib/webauthn-ceremony";
import { texts } from "../../texts";
import { maskPhoneFactor } from "./mask-phone-factor";
import { PhoneCode } from "./phone-code";
import { TotpCode } from "./totp-code";

type Props = {
  /** The factor was verified: the session is `aal2`. */
  onDone: () => void;
};

const factorTypes = {
  totp: { icon: Smartphone, text: texts.secondStep.kinds.totp },
  phone: { icon: MessageSquare, text: texts.secondStep.kinds.phone },
  webauthn: { icon: KeyRound, text: texts.secondStep.kinds.webauthn },
};

/** Asks for a second factor: the one used last, or another. */
export function Challenge({ onDone }: Props) {
  const [factors, setFactors] = useState<Factor[] | null>(null);
  const [chosen, setChosen] = useState<Factor | null>(null);
  const [isChoosing, setChoosing] = useState(false);
  const load = useAction(async () => {
    const { all } = await unwrap(auth.mfa.listFactors());
    const verified = byLastUse(all.filter((factor) => factor.status === "verified")).map(maskPhoneFactor);
    setFactors(verified);
    setChosen(verified[0] ?? null);
    if (verified.length === 0) onDone();
  });
  // Load the factors once, on mount.
  // oxlint-disable-next-line react/exhaustive-deps
  useEffect(() => void load.run(), []);

  if (load.failure) return <LoadError error={load.failure} onRetry={load.run} />;
  if (!factors || !chosen) return <Skeleton label={texts.secondStep.loading} />;
  if (isChoosing) {
    return (
      <ul className="grid gap-3">
        {factors.map((factor, index) => (
          <li key={factor.id}>
            <FactorButton
              factor={factor}
              isFirst={index === 0}
              onChoose={() => {
                setChosen(factor);
                setChoosing(false);
              }}
            />
          </li>
        ))}
      </ul>
    );
  }
  return (
    <>
      <VerifyFactor key={chosen.id} factor={chosen} onDone={onDone} />
      {factors.length > 1 && (
        <Button variant="quiet" onClick={() => setChoosing(true)}>
          {texts.secondStep.otherWay}
        </Button>
      )}
    </>
  );
}

function byLastUse(factors: Factor[]): Factor[] {
  const lastUse = (factor: Factor) => factor.last_challenged_at ?? factor.updated_at;
  return factors.sort((a, b) => lastUse(b).localeCompare(lastUse(a)));
}

type FactorButtonProps = { factor: Factor; isFirst: boolean; onChoose: () => void };

function FactorButton({ factor, isFirst, onChoose }: FactorButtonProps) {
  const type = factorTypes[factor.factor_type as keyof typeof factorTypes] ?? factorTypes.totp;
  return (
    <Button
      variant="secondary"
      className="w-full justify-start gap-3 py-2.5 text-start"
      // The list replaces the button that had the focus.
      // oxlint-disable-next-line jsx-a11y/no-autofocus
      autoFocus={isFirst}
      onClick={onChoose}
    >
      <type.icon aria-hidden className="size-4 shrink-0" />
      <span className="grid min-w-0">
        {type.text}
        {factor.friendly_name && (
          <span className="text-sm font-normal wrap-anywhere text-soft">{factor.friendly_name}</span>
        )}
      </span>
    </Button>
  );
}

function VerifyFactor({ factor, onDone }: Props & { factor: Factor }) {
  switch (factor.factor_type) {
    case "phone":
      return <PhoneCode factor={factor} onDone={onDone} />;
    case "webauthn":
      return <SecurityKey factor={factor} onDone={onDone} />;
    default:
      return <TotpCode factor={factor} onDone={onDone} />;
  }
}

/** Other codes come from the browser: the WebAuthn ceremony failed. */
const isServerError = ({ code }: Failure) => /^[a-z_]+$/.test(code) && code !== "mfa_verification_failed";

/** Verifies a security key, also to finish its enrollment. */
export function SecurityKey({ factor, onDone }: { factor: Factor; onDone: () => void }) {
  const beginCeremony = useWebAuthnCeremony();
  const { run, isBusy, failure } = useAction(async () => {
    await unwrap(
      auth.mfa.webauthn.authenticate({ factorId: factor.id, webauthn: { signal: beginCeremony() } }),
    );
    onDone();
  });
  return (
    <div className="grid gap-4">
      {failure && (
        <Notice tone="danger" role="alert">
          {errorText(isServerError(failure) ? failure : new Failure("key_not_used", ""), "mfa").text}
        </Notice>
      )}
      <p className="text-soft">
        {texts.secondStep.keepAtHand(factor.friendly_name || texts.secondStep.yourKey)}
      </p>
      <Button isBusy={isBusy} busyLabel={texts.secondStep.waitingForKey} onClick={() => void run()}>
        <KeyRound aria-hidden className="size-4" />
        {texts.secondStep.withKey}
      </Button>
    </div>
  );
}
