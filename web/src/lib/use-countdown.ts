// Seconds until something may be asked for again (client contract U11).

import { useEffect, useState } from "react";

export function useCountdown(initial = 0) {
  // Read once for both: a tick between two readings would make 40 seconds 41.
  const [now, setNow] = useState(Date.now);
  const [until, setUntil] = useState(now + initial * 1000);
  const left = Math.max(0, Math.ceil((until - now) / 1000));
  const isRunning = left > 0;

  // The clock is outside React.
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [isRunning]);

  return {
    left,
    start: (seconds: number) => {
      const begun = Date.now();
      setNow(begun);
      setUntil(begun + seconds * 1000);
    },
  };
}
