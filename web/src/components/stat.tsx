import type { ReactNode } from "react";

type Props = { label: string; value: ReactNode; note?: ReactNode; aside?: ReactNode; children?: ReactNode };

/** A figure with its name, and usually a small chart below. */
export function Stat({ label, value, note, aside, children }: Props) {
  return (
    <section aria-label={label} className="grid min-w-0 content-start gap-1 p-4">
      <div className="flex items-center justify-between gap-2 text-dense text-soft">
        <h3>{label}</h3>
        {aside}
      </div>
      <p className="flex items-baseline gap-2">
        <span className="text-xl font-semibold tracking-tight tabular-nums">{value}</span>
        {note && <span className="truncate text-dense text-soft">{note}</span>}
      </p>
      {children}
    </section>
  );
}
