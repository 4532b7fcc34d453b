// Seconds until another message may be requested (client contract U11).

import { useEffect, useState } from "react";

export function useCountdown(initialSeconds = 0) {
  // One reading for both, or a tick in between would turn 40 seconds into 41.
  const [now, setNow] = useState(Date.now);
  const [until, setUntil] = useState(now + initialSeconds * 1000);
  const secondsLeft = Math.max(0, Math.ceil((until - now) / 1000));
  const isRunning = secondsLeft > 0;

  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [isRunning]);

  return {
    secondsLeft,
    start: (seconds: number) => {
      const startedAt = Date.now();
      setNow(startedAt);
      setUntil(startedAt + seconds * 1000);
    },
  };
}
