import { useState } from "react";

import { Button } from "../../components/button";
import { LastUsed } from "../../components/last-used";
import { Notice } from "../../components/notice";
import { errorText } from "../../lib/error-text";
import { lastMethod } from "../../lib/last-method";
import { providerName } from "../../lib/methods";
import { useAction } from "../../lib/use-action";
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
  const [chosen, setChosen] = useState("");
  const last = lastMethod();
  const { run, isBusy, failure } = useAction(async (provider: string) => {
    setChosen(provider);
    await onChoose(provider);
  });

  return (
    <div className="grid gap-3">
      {failure && (
        <Notice tone="danger" role="alert">
          {errorText(failure, undefined, providerName(chosen)).text}
        </Notice>
      )}
      {providers.map((provider) => (
        <Button
          key={provider}
          variant="secondary"
          className="w-full"
          isBusy={isBusy && chosen === provider}
          busyLabel={texts.providers.opening(providerName(provider))}
          disabled={isBusy}
          onClick={() => void run(provider)}
        >
          <ProviderMark provider={provider} />
          {label(providerName(provider))}
          {last === provider && <LastUsed />}
        </Button>
      ))}
    </div>
  );
}
