import clsx from "clsx";
import { LoaderCircle } from "lucide-react";
import type { ButtonHTMLAttributes, MouseEvent, ReactNode } from "react";

const base =
  "inline-flex items-center justify-center gap-2 rounded-md text-center font-medium " +
  "transition-[background-color,border-color,color,opacity,transform] duration-(--ease) active:scale-[0.985] " +
  "aria-disabled:active:scale-100 motion-reduce:active:scale-100";

const variants = {
  primary: "bg-accent text-on-accent hover:opacity-92 aria-disabled:opacity-75",
  secondary: "border border-line-strong/55 bg-surface text-text hover:bg-hover aria-disabled:opacity-70",
  danger: "bg-danger-fill text-on-danger hover:opacity-92 aria-disabled:opacity-75",
  quiet:
    "text-text underline decoration-line-strong underline-offset-4 hover:decoration-text aria-disabled:no-underline aria-disabled:text-soft",
  ghost:
    "text-soft hover:bg-hover hover:text-text aria-disabled:opacity-60 aria-expanded:bg-hover aria-expanded:text-text",
};

const sizes = {
  md: "min-h-target px-[calc(var(--control)*0.375)] py-1 text-control leading-snug",
  sm: "min-h-target-sm px-[calc(var(--control-sm)*0.34)] py-0.5 text-[min(var(--control-text),0.875rem)] leading-snug",
  text: "min-h-9 text-sm",
};

export type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  variant?: keyof typeof variants;
  size?: keyof typeof sizes;
  /** Shows a spinner and `busyLabel`, and ignores clicks. */
  isBusy?: boolean;
  busyLabel?: ReactNode;
};

/** Also prevents the submit of a form. */
const ignoreClick = (event: MouseEvent) => event.preventDefault();

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
  const isDisabled = disabled || isBusy;
  return (
    <button
      {...props}
      // oxlint-disable-next-line react/button-has-type
      type={type}
      // Not `disabled`: the button would lose the focus when pressed.
      aria-disabled={isDisabled || undefined}
      onClick={isDisabled ? ignoreClick : onClick}
      aria-busy={isBusy || undefined}
      className={clsx(base, variants[variant], sizes[size], className)}
    >
      {isBusy && <LoaderCircle aria-hidden className="size-4 animate-spin motion-reduce:animate-none" />}
      {isBusy ? (busyLabel ?? children) : children}
    </button>
  );
}

/** Button styles for links. */
export const buttonClass = (
  variant: keyof typeof variants = "primary",
  size: keyof typeof sizes = "md",
  className?: string,
) => clsx(base, variants[variant], sizes[size], className);
