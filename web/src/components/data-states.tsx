// The four states of a region with data (N4): loading, empty, error, ready; and stale beside the last.

import clsx from "clsx";
import { CloudOff, type LucideIcon, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

import { toFailure } from "../lib/failure";
import { useFailureHandling } from "../lib/failure-handling";
import { kitWords } from "../texts/kit-words";
import { words } from "../texts/words";
import { Button } from "./button";
import { CopyIcon } from "./code-block";
import { Time } from "./time";
import { Tooltip } from "./tooltip";

type BarProps = { className?: string };

/** A grey bar in the place of a text. The region around it says that it loads. */
export function Bone({ className }: BarProps) {
  return (
    <div
      aria-hidden
      className={clsx("animate-pulse rounded-md bg-sunk motion-reduce:animate-none", className)}
    />
  );
}

/** Announces that something loads, and shows its shape after a moment, so that fast answers do not flicker. */
export function Loading({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div role="status" aria-label={label} className="animate-[appear_150ms_150ms_backwards]">
      {children}
    </div>
  );
}

/** Rows of a table while they load. */
export function RowsSkeleton({ label, rows = 6 }: { label: string; rows?: number }) {
  return (
    <Loading label={label}>
      <div className="divide-y divide-line-soft rounded-lg border border-line bg-surface">
        {Array.from({ length: rows + 1 }, (_, row) => (
          <div key={row} className="flex h-row items-center gap-6 px-3">
            <Bone className={clsx("h-3.5", row === 0 ? "w-16" : row % 3 === 1 ? "w-40" : "w-28")} />
            <Bone className="ms-auto h-3.5 w-16 max-sm:hidden" />
            <Bone className="h-3.5 w-20 max-sm:hidden" />
          </div>
        ))}
      </div>
    </Loading>
  );
}

type EmptyProps = {
  icon?: LucideIcon;
  title: string;
  /** One sentence. */
  children?: ReactNode;
  /** One primary action, and a link to the documentation. */
  action?: ReactNode;
  size?: "sm" | "md";
};

/** Nothing there yet, and what to do about it. */
export function Empty({ icon: Icon, title, children, action, size = "md" }: EmptyProps) {
  return (
    <div
      className={clsx(
        "grid justify-items-center gap-2 rounded-lg border border-dashed border-line px-6 text-center",
        size === "md" ? "py-12" : "py-6",
      )}
    >
      {Icon && (
        <span aria-hidden className="mb-1 grid size-10 place-items-center rounded-lg bg-sunk text-soft">
          <Icon className="size-5" />
        </span>
      )}
      <p className="text-sm font-medium">{title}</p>
      {children && <div className="max-w-md text-dense text-balance text-soft">{children}</div>}
      {action && <div className="mt-2 flex flex-wrap items-center justify-center gap-3">{action}</div>}
    </div>
  );
}

type ErrorProps = {
  /** What failed: "The projects could not be loaded." */
  title: string;
  error: unknown;
  onRetry?: () => unknown;
  size?: "sm" | "md";
};

/** What failed, why, its code and request id, and a way to try again. */
export function ErrorState({ title, error, onRetry, size = "md" }: ErrorProps) {
  const { describe } = useFailureHandling();
  const failure = toFailure(error);
  const Icon = failure.code === "offline" ? CloudOff : TriangleAlert;
  const { requestId } = failure.details;
  return (
    <div
      role="alert"
      className={clsx(
        "flex gap-3 rounded-lg border border-danger/25 bg-danger-surface",
        size === "md" ? "p-4" : "px-3 py-2",
      )}
    >
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0 text-danger" />
      <div className="grid min-w-0 flex-1 gap-1 text-dense">
        <p className="font-medium text-danger">{title}</p>
        <p className="[overflow-wrap:anywhere]">{describe(failure).text}</p>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 font-mono text-xs text-soft">
          <span>{failure.code}</span>
          {requestId && (
            <span className="inline-flex items-center gap-1">
              {kitWords.requestId} {requestId}
              <CopyIcon text={requestId} label={kitWords.copyRequestId} />
            </span>
          )}
        </div>
      </div>
      {onRetry && (
        <Button variant="secondary" size="sm" className="self-start" onClick={() => void onRetry()}>
          {words.tryAgain}
        </Button>
      )}
    </div>
  );
}

/** Beside data whose last refresh failed. */
export function StaleBadge({ since }: { since: number }) {
  const at = new Date(since).toISOString();
  return (
    <span
      role="status"
      className="inline-flex items-center gap-1 rounded-full bg-warn-surface px-2 py-0.5 text-xs font-medium text-warn"
    >
      <CloudOff aria-hidden className="size-3" />
      {kitWords.staleSince("")} <Time at={at} />
    </span>
  );
}

/** What a query knows, as far as a region needs it. */
export type RegionQuery<T> = {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  isError: boolean;
  isRefetchError: boolean;
  dataUpdatedAt: number;
  refetch: () => unknown;
};

type RegionProps<T> = {
  query: RegionQuery<T>;
  /** Its final shape. */
  skeleton: ReactNode;
  /** What failed. */
  errorTitle: string;
  errorSize?: "sm" | "md";
  /** Shown instead of the content if there is nothing. */
  empty?: { when: (data: T) => boolean; show: ReactNode };
  children: (data: T, stale: ReactNode) => ReactNode;
};

/** Chooses the state of a region by its query. Data that are there stay there when a refresh fails. */
export function Region<T>({ query, skeleton, errorTitle, errorSize, empty, children }: RegionProps<T>) {
  const { data } = query;
  if (data !== undefined) {
    if (empty?.when(data)) return empty.show;
    return children(data, query.isRefetchError ? <StaleBadge since={query.dataUpdatedAt} /> : null);
  }
  if (query.isError) {
    return (
      <ErrorState
        title={errorTitle}
        error={query.error}
        onRetry={query.refetch}
        {...(errorSize && { size: errorSize })}
      />
    );
  }
  return skeleton;
}

/** Names with control characters and bidirectional overrides shown as what they are (N12). */
export function Name({ children }: { children: string }) {
  const shown = escapeInvisible(children);
  if (shown === children) return <bdi>{children}</bdi>;
  return (
    <Tooltip text={shown}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <bdi tabIndex={0}>{shown}</bdi>
    </Tooltip>
  );
}

// oxlint-disable-next-line no-control-regex
const invisible = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export const escapeInvisible = (text: string) =>
  text.replace(invisible, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
