import type { Factor } from "@supabase/auth-js";
import { KeyRound, MessageSquare, Smartphone } from "lucide-react";
import { useEffect, useState } from "react";

import { Button } from "../../components/button";
import { Notice } from "../../components/notice";
import { LoadError, Skeleton } from "../../components/states";
import { auth } from "../../lib/auth-client";
import { useCeremony } from "../../lib/ceremony";
import { errorText } from "../../lib/error-text";
import { done, Failure } from "../../lib/failure";
import { useAction } from "../../lib/use-action";
import * as texts from "../../texts";
import { AppCode } from "./app-code";
import { discreet } from "./discreet";
import { PhoneCode } from "./phone-code";

type Props = {
  /** The second step was taken: the session is raised. */
  onDone: () => void;
};

const kinds = {
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
    const { all } = await done(auth.mfa.listFactors());
    const verified = byLastUse(all.filter((factor) => factor.status === "verified")).map(discreet);
    setFactors(verified);
    setChosen(verified[0] ?? null);
    if (verified.length === 0) onDone();
  });
  // The list comes from the server, once.
  // oxlint-disable-next-line react/exhaustive-deps
  useEffect(() => void load.run(), []);

  if (load.failure) return <LoadError error={load.failure} onRetry={load.run} />;
  if (!factors || !chosen) return <Skeleton label={texts.secondStep.loading} />;
  if (isChoosing) {
    return (
      <ul className="grid gap-3">
        {factors.map((factor, index) => (
          <li key={factor.id}>
            <Choice
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
      <OneFactor key={chosen.id} factor={chosen} onDone={onDone} />
      {factors.length > 1 && (
        <Button variant="quiet" onClick={() => setChoosing(true)}>
          {texts.secondStep.otherWay}
        </Button>
      )}
    </>
  );
}

function byLastUse(factors: Factor[]): Factor[] {
  const used = (factor: Factor) => factor.last_challenged_at ?? factor.updated_at;
  return factors.sort((a, b) => used(b).localeCompare(used(a)));
}

type ChoiceProps = { factor: Factor; isFirst: boolean; onChoose: () => void };

function Choice({ factor, isFirst, onChoose }: ChoiceProps) {
  const kind = kinds[factor.factor_type as keyof typeof kinds] ?? kinds.totp;
  return (
    <Button
      variant="secondary"
      className="w-full justify-start gap-3 py-2.5 text-start"
      // The list took the place of the button that asked for it.
      // oxlint-disable-next-line jsx-a11y/no-autofocus
      autoFocus={isFirst}
      onClick={onChoose}
    >
      <kind.icon aria-hidden className="size-4 shrink-0" />
      <span className="grid min-w-0">
        {kind.text}
        {factor.friendly_name && (
          <span className="text-sm font-normal wrap-anywhere text-soft">{factor.friendly_name}</span>
        )}
      </span>
    </Button>
  );
}

function OneFactor({ factor, onDone }: Props & { factor: Factor }) {
  switch (factor.factor_type) {
    case "phone":
      return <PhoneCode factor={factor} onDone={onDone} />;
    case "webauthn":
      return <SecurityKey factor={factor} onDone={onDone} />;
    default:
      return <AppCode factor={factor} onDone={onDone} />;
  }
}

/** Other codes are the browser's, about a ceremony that did not happen. */
const isOurs = ({ code }: Failure) => /^[a-z_]+$/.test(code) && code !== "mfa_verification_failed";

/** The ceremony of a key: for one that is new, the first one. */
export function SecurityKey({ factor, onDone }: { factor: Factor; onDone: () => void }) {
  const begin = useCeremony();
  const { run, isBusy, failure } = useAction(async () => {
    await done(auth.mfa.webauthn.authenticate({ factorId: factor.id, webauthn: { signal: begin() } }));
    onDone();
  });
  return (
    <div className="grid gap-4">
      {failure && (
        <Notice tone="danger" role="alert">
          {errorText(isOurs(failure) ? failure : new Failure("key_not_used", ""), "mfa").text}
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
