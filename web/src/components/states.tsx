import clsx from "clsx";
import type { ReactNode } from "react";

import { toFailure } from "../lib/failure";
import { useFailureHandling } from "../lib/failure-handling";
import { words } from "../texts/words";
import { Button } from "./button";
import { Card } from "./card";
import { Notice } from "./notice";

/** A loading placeholder. Appears with a delay, so that fast responses do not flicker. */
export function Skeleton({ label, lines = 3 }: { label: string; lines?: number | undefined }) {
  return (
    <div role="status" aria-label={label} className="grid animate-[appear_150ms_150ms_backwards] gap-3">
      {Array.from({ length: lines }, (_, line) => (
        <div
          key={line}
          className={clsx(
            "h-5 animate-pulse rounded-md bg-sunk motion-reduce:animate-none",
            line % 3 === 2 ? "w-1/2" : line % 3 === 1 ? "w-5/6" : "w-full",
          )}
        />
      ))}
    </div>
  );
}

/** The heading of a page while it loads: as high as `h1` and the sentence below it. */
export function HeadingSkeleton({ hasLead }: { hasLead: boolean }) {
  return (
    <div aria-hidden className="mb-6 grid animate-[appear_150ms_150ms_backwards] gap-1.5">
      <div className="h-8 w-48 animate-pulse rounded-md bg-sunk motion-reduce:animate-none" />
      {hasLead && (
        <div className="h-6 w-72 max-w-full animate-pulse rounded-md bg-sunk motion-reduce:animate-none" />
      )}
    </div>
  );
}

/** A card while its content loads. */
export function CardSkeleton({ label, lines }: { label: string; lines?: number | undefined }) {
  return (
    <Card>
      <Skeleton label={label} lines={lines} />
    </Card>
  );
}

export function LoadError({ error, onRetry }: { error: unknown; onRetry: () => unknown }) {
  const { describe } = useFailureHandling();
  return (
    <Notice tone="danger" role="alert">
      <p>{describe(toFailure(error)).text}</p>
      <div>
        <Button variant="secondary" size="sm" onClick={() => void onRetry()}>
          {words.tryAgain}
        </Button>
      </div>
    </Notice>
  );
}

export function EmptyState({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="grid justify-items-start gap-3 rounded-lg border border-dashed border-line-strong/60 px-5 py-6">
      <p className="font-medium">{title}</p>
      {children}
    </div>
  );
}
