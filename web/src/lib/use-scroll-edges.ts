// Whether a row that scrolls horizontally goes on beyond its edges.

import { type RefObject, useEffect, useState } from "react";

type Edges = { hasMoreBefore: boolean; hasMoreAfter: boolean };

const none: Edges = { hasMoreBefore: false, hasMoreAfter: false };

/** Fractions of pixels are not more. */
const tolerancePx = 2;

function readEdges({ scrollLeft, scrollWidth, clientWidth }: HTMLElement): Edges {
  // Negative from right to left.
  const scrolled = Math.abs(scrollLeft);
  return {
    hasMoreBefore: scrolled > tolerancePx,
    hasMoreAfter: scrollWidth - clientWidth - scrolled > tolerancePx,
  };
}

export function useScrollEdges(row: RefObject<HTMLElement | null>): Edges {
  const [edges, setEdges] = useState(none);
  useEffect(() => {
    const element = row.current;
    if (!element) return;
    const update = () => setEdges(readEdges(element));
    const observer = new ResizeObserver(update);
    observer.observe(element);
    element.addEventListener("scroll", update, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", update);
    };
  }, [row]);
  return edges;
}
