import clsx from "clsx";
import { CircleAlert, CircleCheck, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

const tones = {
  info: { className: "bg-info-surface text-info", icon: Info },
  good: { className: "bg-good-surface text-good", icon: CircleCheck },
  warn: { className: "bg-warn-surface text-warn", icon: TriangleAlert },
  danger: { className: "bg-danger-surface text-danger", icon: CircleAlert },
};

type Props = { tone: keyof typeof tones; role?: "status" | "alert"; children: ReactNode };

/** An inline message. The icon repeats the meaning of the colour. */
export function Notice({ tone, role, children }: Props) {
  const { className, icon: Icon } = tones[tone];
  return (
    <div role={role} className={clsx("flex gap-3 rounded-md px-3.5 py-3 text-sm", className)}>
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0" />
      <div className="grid min-w-0 flex-1 gap-1.5 text-start">{children}</div>
    </div>
  );
}
