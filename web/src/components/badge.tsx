import clsx from "clsx";
import { CircleAlert, CircleCheck, CircleDashed, CirclePause, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

export type Tone = "plain" | "good" | "warn" | "danger" | "info" | "accent";

const tones: Record<Tone, string> = {
  plain: "bg-sunk text-soft",
  good: "bg-good-surface text-good",
  warn: "bg-warn-surface text-warn",
  danger: "bg-danger-surface text-danger",
  info: "bg-info-surface text-info",
  accent: "bg-accent-surface text-accent-text",
};

type Props = { tone?: Tone; children: ReactNode };

/** A small label. */
export function Badge({ tone = "plain", children }: Props) {
  return (
    <span
      className={clsx(
        "inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs leading-4 font-medium whitespace-nowrap",
        tones[tone],
      )}
    >
      {children}
    </span>
  );
}

const signs = {
  good: { icon: CircleCheck, className: "text-good" },
  warn: { icon: TriangleAlert, className: "text-warn" },
  danger: { icon: CircleAlert, className: "text-danger" },
  info: { icon: Info, className: "text-info" },
  waiting: { icon: CircleDashed, className: "text-info" },
  paused: { icon: CirclePause, className: "text-soft" },
};

export type State = keyof typeof signs;

/** A state: a sign and a word, never a colour alone. */
export function StateLabel({ state, children }: { state: State; children: ReactNode }) {
  const { icon: Icon, className } = signs[state];
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <Icon
        aria-hidden
        className={clsx(
          "size-3.5 shrink-0",
          className,
          state === "waiting" && "animate-spin motion-reduce:animate-none",
        )}
      />
      {children}
    </span>
  );
}
