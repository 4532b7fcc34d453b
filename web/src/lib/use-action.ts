// Runs an async action behind a button: busy state, no concurrent runs, the last failure.

import { useRef, useState } from "react";

import { type Failure, toFailure } from "./failure";
import { useFailureHandling } from "./failure-handling";

type Options = {
  /** Whether a session error signs the user out. Not for errors about a link's token. */
  handlesSessionErrors?: boolean;
};

export function useAction<A extends unknown[]>(
  action: (...args: A) => Promise<void>,
  { handlesSessionErrors = true }: Options = {},
) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const isRunning = useRef(false);
  const { replacePage, endSession } = useFailureHandling();

  const run = async (...args: A) => {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setFailure(null);
    try {
      await action(...args);
    } catch (error) {
      const caught = toFailure(error);
      replacePage(caught);
      if (handlesSessionErrors) endSession(caught);
      setFailure(caught);
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  };
  return { run, isBusy, failure, reset: () => setFailure(null) };
}
