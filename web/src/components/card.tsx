import type { ReactNode } from "react";

type Props = { title?: string; lead?: ReactNode; children: ReactNode };

export function Card({ title, lead, children }: Props) {
  return (
    <section className="rounded-lg border border-line bg-surface p-5 sm:p-6">
      {title && (
        <div className="mb-4 grid gap-1">
          <h2 className="text-lg font-semibold">{title}</h2>
          {lead && <div className="text-sm text-soft">{lead}</div>}
        </div>
      )}
      <div className="grid gap-5">{children}</div>
    </section>
  );
}

/** A small status label. */
export function Badge({
  tone = "plain",
  children,
}: {
  tone?: "plain" | "good" | "warn";
  children: ReactNode;
}) {
  const tones = {
    plain: "bg-sunk text-soft",
    good: "bg-good-surface text-good",
    warn: "bg-warn-surface text-warn",
  };
  return <span className={`rounded-full px-2.5 py-0.5 text-xs font-medium ${tones[tone]}`}>{children}</span>;
}

type RowProps = { icon: ReactNode; title: ReactNode; details: ReactNode; action?: ReactNode };

/** A list item with an action. */
export function Row({ icon, title, details, action }: RowProps) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-3 py-4 first:pt-0 last:pb-0">
      <span aria-hidden className="grid size-10 shrink-0 place-items-center rounded-md bg-sunk text-soft">
        {icon}
      </span>
      <div className="grid min-w-0 flex-1 basis-32 gap-0.5">
        <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1 font-medium">{title}</div>
        <div className="text-sm text-soft">{details}</div>
      </div>
      {action}
    </li>
  );
}

export const rowsClass = "divide-y divide-line";
