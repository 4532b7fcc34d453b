import clsx from "clsx";
import { LoaderCircle } from "lucide-react";
import type { ButtonHTMLAttributes, MouseEvent, ReactNode } from "react";

const base =
  "inline-flex items-center justify-center gap-2 rounded-md font-medium " +
  "transition-[background-color,border-color,opacity,transform] duration-(--ease) active:scale-[0.985] " +
  "aria-disabled:active:scale-100 motion-reduce:active:scale-100";

const variants = {
  primary: "bg-accent text-on-accent hover:opacity-92 aria-disabled:opacity-75",
  secondary: "border border-line-strong/55 bg-surface text-text hover:bg-hover aria-disabled:opacity-70",
  danger: "bg-danger-fill text-on-danger hover:opacity-92 aria-disabled:opacity-75",
  quiet:
    "text-text underline decoration-line-strong underline-offset-4 hover:decoration-text aria-disabled:no-underline aria-disabled:text-soft",
};

const sizes = {
  md: "min-h-target px-4 text-[0.9375rem]",
  sm: "min-h-9 px-3 text-sm",
  text: "min-h-9 text-sm",
};

export type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  variant?: keyof typeof variants;
  size?: keyof typeof sizes;
  /** While something runs: it does nothing, with a spinner and this label. */
  isBusy?: boolean;
  busyLabel?: ReactNode;
};

/** Also what a form would do about it. */
const ignore = (event: MouseEvent) => event.preventDefault();

export function Button({
  variant = "primary",
  size = "md",
  isBusy = false,
  busyLabel,
  className,
  children,
  disabled,
  type = "button",
  onClick,
  ...props
}: ButtonProps) {
  const isOff = disabled || isBusy;
  return (
    <button
      {...props}
      // oxlint-disable-next-line react/button-has-type
      type={type}
      // Not `disabled`: whoever has just pressed it would lose the focus, and their place on the page.
      aria-disabled={isOff || undefined}
      onClick={isOff ? ignore : onClick}
      aria-busy={isBusy || undefined}
      className={clsx(base, variants[variant], sizes[size], className)}
    >
      {isBusy && <LoaderCircle aria-hidden className="size-4 animate-spin motion-reduce:animate-none" />}
      {isBusy ? (busyLabel ?? children) : children}
    </button>
  );
}

/** The same looks for links. */
export const buttonClass = (
  variant: keyof typeof variants = "primary",
  size: keyof typeof sizes = "md",
  className?: string,
) => clsx(base, variants[variant], sizes[size], className);
