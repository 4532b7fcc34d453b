import clsx from "clsx";
import type { LucideIcon } from "lucide-react";
import type { ReactNode, Ref } from "react";

import { Button, type ButtonProps } from "./button";
import { Tooltip } from "./tooltip";

type Props = Omit<ButtonProps, "children" | "busyLabel"> & {
  /** The name for screen readers, and the tooltip. */
  label: string;
  icon: LucideIcon;
  /** Shown in the tooltip. */
  keys?: string | undefined;
  /** A small mark at the corner, such as a count. */
  mark?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
};

/** A square button with a picture and a name. */
export function IconButton({
  label,
  icon: Icon,
  keys,
  mark,
  variant = "ghost",
  size = "md",
  className,
  ...props
}: Props) {
  const side = size === "sm" ? "size-target-sm" : "size-target";
  return (
    <Tooltip text={label} keys={keys}>
      <Button
        {...props}
        variant={variant}
        size={size}
        aria-label={label}
        className={clsx("relative shrink-0 p-0!", side, className)}
      >
        <Icon aria-hidden className="size-4" />
        {mark}
      </Button>
    </Tooltip>
  );
}
