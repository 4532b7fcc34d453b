// One call behind a button: busy while it runs, never twice at once, its failure kept.

import { useRef, useState } from "react";

import { useBanned } from "./banned";
import { type Failure, toFailure } from "./failure";
import { endIfSignedOut } from "./sign-out";

type Options = {
  /** Whether a refusal can be about the session at hand. One of a link's own secret is not. */
  isAboutSession?: boolean;
};

export function useAction<A extends unknown[]>(
  action: (...args: A) => Promise<void>,
  { isAboutSession = true }: Options = {},
) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const isRunning = useRef(false);
  const isBanned = useBanned();

  const run = async (...args: A) => {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setFailure(null);
    try {
      await action(...args);
    } catch (error) {
      const caught = toFailure(error);
      isBanned(caught);
      if (isAboutSession) endIfSignedOut(caught);
      setFailure(caught);
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  };
  return { run, isBusy, failure, reset: () => setFailure(null) };
}
