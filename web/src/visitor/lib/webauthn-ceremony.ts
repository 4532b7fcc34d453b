// WebAuthn ceremonies of passkeys and security keys, one at a time (client contract S74). A new ceremony
// aborts the running one, and unmounting a component aborts its own.

import { useEffect, useRef } from "react";

let running: AbortController | null = null;

function abort(ceremony: AbortController | null) {
  ceremony?.abort(new DOMException("ceremony aborted", "AbortError"));
}

/** Returns a function that begins a ceremony; pass its signal to the auth call. */
export function useWebAuthnCeremony(): () => AbortSignal {
  const own = useRef<AbortController | null>(null);
  useEffect(() => () => abort(own.current), []);
  return () => {
    abort(running);
    running = own.current = new AbortController();
    return running.signal;
  };
}
