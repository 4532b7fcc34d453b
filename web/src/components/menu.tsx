import * as Ariakit from "@ariakit/react/menu";
import clsx from "clsx";
import { Check, type LucideIcon } from "lucide-react";
import type { ReactElement, ReactNode } from "react";

import { Keys } from "./keys";

export const popoverClass =
  "floating thin-scroll z-40 overflow-y-auto rounded-lg bg-raised text-dense text-text shadow-float outline-none";

export const optionClass =
  "flex min-h-8 cursor-default items-center gap-2.5 rounded-md px-2 py-1 outline-none select-none " +
  "data-active-item:bg-hover aria-disabled:opacity-55 pointer-coarse:min-h-11";

type Props = {
  /** The button that opens the menu. */
  button: ReactElement;
  /** Its name, if the button does not say it. */
  label?: string;
  placement?: Ariakit.MenuProviderProps["placement"];
  className?: string;
  children: ReactNode;
};

/** A menu of actions. */
export function Menu({ button, label, placement = "bottom-start", className, children }: Props) {
  return (
    <Ariakit.MenuProvider placement={placement}>
      <Ariakit.MenuButton render={button} />
      <Ariakit.Menu
        aria-label={label}
        gutter={6}
        overflowPadding={8}
        portal
        unmountOnHide
        className={clsx(
          popoverClass,
          "max-h-[min(30rem,var(--popover-available-height))] min-w-52 p-1",
          className,
        )}
      >
        {children}
      </Ariakit.Menu>
    </Ariakit.MenuProvider>
  );
}

type ItemProps = {
  icon?: LucideIcon;
  keys?: string;
  tone?: "plain" | "danger";
  /** Why it cannot be chosen now; also disables it. */
  disabledReason?: string | undefined;
  /** Of a choice: whether this is the chosen one. */
  isChosen?: boolean;
  onSelect?: () => void;
  /** For items that are links. */
  render?: ReactElement;
  children: ReactNode;
};

export function MenuItem({
  icon: Icon,
  keys,
  tone = "plain",
  disabledReason,
  isChosen,
  onSelect,
  render,
  children,
}: ItemProps) {
  return (
    <Ariakit.MenuItem
      role={isChosen === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={isChosen}
      disabled={!!disabledReason}
      accessibleWhenDisabled
      onClick={disabledReason ? undefined : onSelect}
      render={render}
      className={clsx(optionClass, tone === "danger" && "text-danger")}
    >
      {Icon && <Icon aria-hidden className={clsx("size-4 shrink-0", tone === "danger" ? "" : "text-soft")} />}
      <span className="min-w-0 flex-1">
        {children}
        {disabledReason && <span className="block text-xs text-soft">{disabledReason}</span>}
      </span>
      {isChosen && <Check aria-hidden className="size-4 shrink-0 text-accent-text" />}
      {keys && <Keys keys={keys} />}
    </Ariakit.MenuItem>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <div className="px-2 pt-2 pb-1 text-xs font-medium text-faint">{children}</div>;
}

export function MenuSeparator() {
  return <Ariakit.MenuSeparator className="-mx-1 my-1 h-px border-0 bg-line" />;
}
