import { useState } from "react";

import { Button } from "../../../components/button";
import { LastUsed } from "../../components/last-used";
import { Notice } from "../../../components/notice";
import { errorText } from "../../lib/error-text";
import { lastSignInMethod } from "../../lib/last-sign-in-method";
import { providerName } from "../../lib/sign-in-methods";
import { useAction } from "../../../lib/use-action";
import { texts } from "../../texts";
import { ProviderMark } from "./provider-mark";

type Props = {
  providers: string[];
  /** The button label: "Continue with …" or "Connect …". */
  label: (provider: string) => string;
  /** Redirects to the provider; does not resolve on success. */
  onChoose: (provider: string) => Promise<void>;
};

/** One button per provider, busy until the browser has left the page. */
export function ProviderButtons({ providers, label, onChoose }: Props) {
  const [chosen, setChosen] = useState("");
  const last = lastSignInMethod();
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
