import { useEffect, useState } from "react";

import { loadSignInMethods, type SignInMethods } from "./sign-in-methods";

export function useSignInMethods() {
  const [methods, setMethods] = useState<SignInMethods | null>(null);
  const [error, setError] = useState<unknown>(null);

  const load = () => void loadSignInMethods().then(setMethods, setError);
  useEffect(load, []);

  const retry = () => {
    setError(null);
    load();
  };
  return { methods, error, retry };
}
