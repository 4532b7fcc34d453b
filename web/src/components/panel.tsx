import type { ReactNode } from "react";

type Props = {
  title: string;
  aside?: ReactNode;
  /** Without padding, for lists that reach the edges. */ isFlush?: boolean;
  children: ReactNode;
};

/** A titled part of a screen. */
export function Panel({ title, aside, isFlush = false, children }: Props) {
  return (
    <section aria-label={title} className="min-w-0 rounded-lg border border-line bg-surface">
      <div className="flex min-h-11 items-center justify-between gap-3 border-b border-line-soft px-4 py-1.5">
        <h2 className="text-sm font-semibold">{title}</h2>
        {aside && <div className="flex items-center gap-2 text-dense text-soft">{aside}</div>}
      </div>
      <div className={isFlush ? "" : "p-4"}>{children}</div>
    </section>
  );
}
