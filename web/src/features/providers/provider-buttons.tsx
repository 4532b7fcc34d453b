import { useState } from "react";

import { Button } from "../../components/button";
import { LastUsed } from "../../components/last-used";
import { Notice } from "../../components/notice";
import { errorText } from "../../lib/error-text";
import { toFailure, type Failure } from "../../lib/failure";
import { lastMethod } from "../../lib/last-method";
import { providerName } from "../../lib/methods";
import * as texts from "../../texts";
import { ProviderMark } from "./provider-mark";

type Props = {
  providers: string[];
  /** What a button says: "Continue with …" or "Connect …". */
  label: (provider: string) => string;
  /** Leads to the provider; the page is left while it runs. */
  onChoose: (provider: string) => Promise<void>;
};

/** One button per provider, busy until the browser is on its way there. */
export function ProviderButtons({ providers, label, onChoose }: Props) {
  const [leaving, setLeaving] = useState<string | null>(null);
  const [failed, setFailed] = useState<{ provider: string; failure: Failure } | null>(null);
  const last = lastMethod();

  const choose = async (provider: string) => {
    setLeaving(provider);
    setFailed(null);
    try {
      await onChoose(provider);
    } catch (error) {
      setFailed({ provider, failure: toFailure(error) });
      setLeaving(null);
    }
  };

  return (
    <div className="grid gap-3">
      {failed && (
        <Notice tone="danger" role="alert">
          {errorText(failed.failure, undefined, providerName(failed.provider)).text}
        </Notice>
      )}
      {providers.map((provider) => (
        <Button
          key={provider}
          variant="secondary"
          className="w-full"
          isBusy={leaving === provider}
          busyLabel={texts.providers.opening(providerName(provider))}
          disabled={leaving !== null}
          onClick={() => void choose(provider)}
        >
          <ProviderMark provider={provider} />
          {label(providerName(provider))}
          {last === provider && <LastUsed />}
        </Button>
      ))}
    </div>
  );
}
