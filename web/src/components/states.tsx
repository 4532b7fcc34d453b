import clsx from "clsx";
import type { ReactNode } from "react";

import { errorText } from "../lib/error-text";
import { toFailure } from "../lib/failure";
import * as texts from "../texts";
import { Button } from "./button";
import { Notice } from "./notice";

/** The shape of what will be here. Appears late, so that fast answers do not flicker. */
export function Skeleton({ label, lines = 3 }: { label: string; lines?: number }) {
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

export function LoadError({ error, onRetry }: { error: unknown; onRetry: () => unknown }) {
  return (
    <Notice tone="danger" role="alert">
      <p>{errorText(toFailure(error)).text}</p>
      <div>
        <Button variant="secondary" size="sm" onClick={() => void onRetry()}>
          {texts.common.tryAgain}
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
