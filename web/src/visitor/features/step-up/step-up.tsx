// Step-up authentication (client contract U7): if a call requires a second factor or a reauthentication
// code, a dialog asks for it and the call is retried.

import { createContext, type ReactNode, useCallback, useContext, useState } from "react";

import { Dialog } from "../../components/dialog";
import { errorText } from "../../lib/error-text";
import { Failure, toFailure } from "../../../lib/failure";
import { texts } from "../../texts";
import { Challenge } from "./challenge";
import { NonceForm } from "./nonce-form";

/** Runs a call; `nonce` is set once the user entered a reauthentication code. */
type WithStepUp = <T>(call: (nonce?: string) => Promise<T>) => Promise<T>;

type Prompt = {
  kind: "factor" | "nonce";
  /** The server's error code. */
  code: string;
  resolve: (nonce?: string) => void;
  reject: (failure: Failure) => void;
};

const StepUpContext = createContext<WithStepUp>((call) => call());

/** Returns a wrapper for calls that may require a second factor or a code. */
export const useStepUp = () => useContext(StepUpContext);

export function StepUpProvider({ children }: { children: ReactNode }) {
  const [prompt, setPrompt] = useState<Prompt | null>(null);

  const run: WithStepUp = useCallback(async (call) => {
    const promptFor = (kind: Prompt["kind"], code: string) =>
      new Promise<string | undefined>((resolve, reject) => setPrompt({ kind, code, resolve, reject }));
    let nonce: string | undefined;
    let hasVerifiedFactor = false;
    for (;;) {
      try {
        return await call(nonce);
      } catch (error) {
        const failure = toFailure(error);
        const kind = requiredProof(failure);
        // Ask for a factor once only, or an AAL that stays too low would loop forever.
        if (!kind || (kind === "factor" && hasVerifiedFactor)) throw failure;
        hasVerifiedFactor ||= kind === "factor";
        const answer = await promptFor(kind, failure.code);
        nonce = answer ?? nonce;
      }
    }
  }, []);

  const resolvePrompt = (nonce?: string) => {
    setPrompt(null);
    prompt?.resolve(nonce);
  };
  const cancel = () => {
    setPrompt(null);
    prompt?.reject(new Failure("cancelled", ""));
  };
  return (
    <StepUpContext value={run}>
      {children}
      {prompt?.kind === "factor" && (
        <Dialog title={texts.stepUp.title} onClose={cancel}>
          <p className="text-soft">{errorText(new Failure("insufficient_aal", "")).text}</p>
          <Challenge onDone={() => resolvePrompt()} />
        </Dialog>
      )}
      {prompt?.kind === "nonce" && (
        <Dialog title={texts.stepUp.title} onClose={cancel}>
          <NonceForm code={prompt.code} onNonce={resolvePrompt} />
        </Dialog>
      )}
    </StepUpContext>
  );
}

function requiredProof({ code }: Failure): Prompt["kind"] | null {
  switch (code) {
    case "insufficient_aal":
      return "factor";
    case "reauthentication_needed":
    case "reauth_nonce_missing":
    case "reauthentication_not_valid":
      return "nonce";
    default:
      return null;
  }
}
