// Passkeys and security keys: one ceremony at a time (client contract S74). A new one ends the one before,
// and a ceremony ends with what asked for it: a key that is touched afterwards does nothing.

import { useEffect, useRef } from "react";

let running: AbortController | null = null;

function end(ceremony: AbortController | null) {
  ceremony?.abort(new DOMException("this ceremony was given up", "AbortError"));
}

/** Begins a ceremony: its signal goes along with the call. */
export function useCeremony(): () => AbortSignal {
  const own = useRef<AbortController | null>(null);
  // The browser waits for a touch outside React.
  useEffect(() => () => end(own.current), []);
  return () => {
    end(running);
    running = own.current = new AbortController();
    return running.signal;
  };
}
