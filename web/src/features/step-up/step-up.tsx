// Calls that ask for more proof first (client contract U7): a dialog asks, and the call is repeated.

import { createContext, type ReactNode, useCallback, useContext, useState } from "react";

import { Dialog } from "../../components/dialog";
import { errorText } from "../../lib/error-text";
import { Failure, toFailure } from "../../lib/failure";
import * as texts from "../../texts";
import { Challenge } from "./challenge";
import { NonceForm } from "./nonce-form";

/** Runs a call; `nonce` is there once somebody was asked for a code. */
type Guarded = <T>(call: (nonce?: string) => Promise<T>) => Promise<T>;

type Asked = {
  kind: "factor" | "nonce";
  /** What the server said. */
  code: string;
  resolve: (nonce?: string) => void;
  reject: (failure: Failure) => void;
};

const StepUpContext = createContext<Guarded>((call) => call());

/** Wraps a call that may need a second factor or a code. */
export const useStepUp = () => useContext(StepUpContext);

export function StepUp({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<Asked | null>(null);

  const run: Guarded = useCallback(async (call) => {
    const ask = (kind: Asked["kind"], code: string) =>
      new Promise<string | undefined>((resolve, reject) => setAsked({ kind, code, resolve, reject }));
    let nonce: string | undefined;
    let hasProven = false;
    for (;;) {
      try {
        return await call(nonce);
      } catch (error) {
        const failure = toFailure(error);
        const kind = proofFor(failure);
        // A second step that is not enough would be asked for without end.
        if (!kind || (kind === "factor" && hasProven)) throw failure;
        hasProven ||= kind === "factor";
        const given = await ask(kind, failure.code);
        nonce = given ?? nonce;
      }
    }
  }, []);

  const answer = (nonce?: string) => {
    setAsked(null);
    asked?.resolve(nonce);
  };
  const cancel = () => {
    setAsked(null);
    asked?.reject(new Failure("cancelled", ""));
  };
  return (
    <StepUpContext value={run}>
      {children}
      {asked?.kind === "factor" && (
        <Dialog title={texts.stepUp.title} onClose={cancel}>
          <p className="text-soft">{errorText(new Failure("insufficient_aal", "")).text}</p>
          <Challenge onDone={() => answer()} />
        </Dialog>
      )}
      {asked?.kind === "nonce" && (
        <Dialog title={texts.stepUp.title} onClose={cancel}>
          <NonceForm code={asked.code} onNonce={answer} />
        </Dialog>
      )}
    </StepUpContext>
  );
}

function proofFor({ code }: Failure): Asked["kind"] | null {
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
