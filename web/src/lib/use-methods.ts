// Which ways of signing in there are, as React sees it.

import { useEffect, useState } from "react";

import { loadMethods, type Methods } from "./methods";

export function useMethods() {
  const [methods, setMethods] = useState<Methods | null>(null);
  const [error, setError] = useState<unknown>(null);

  const load = () => void loadMethods().then(setMethods, setError);
  // The answer comes from the network.
  useEffect(load, []);

  const retry = () => {
    setError(null);
    load();
  };
  return { methods, error, retry };
}
