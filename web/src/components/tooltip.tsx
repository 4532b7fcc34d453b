import * as Ariakit from "@ariakit/react/tooltip";
import type { ReactElement, ReactNode } from "react";

import { Keys } from "./keys";

type Props = {
  text: ReactNode;
  keys?: string | undefined;
  placement?: Ariakit.TooltipProviderProps["placement"];
  /** One element that can take the focus. It needs a name of its own: a tooltip is no label. */
  children: ReactElement;
};

/** A short explanation on hover and on focus. */
export function Tooltip({ text, keys, placement = "bottom", children }: Props) {
  return (
    <Ariakit.TooltipProvider placement={placement} showTimeout={450} hideTimeout={0}>
      <Ariakit.TooltipAnchor render={children} />
      <Ariakit.Tooltip
        gutter={6}
        overflowPadding={8}
        portal
        unmountOnHide
        className="floating z-50 flex max-w-xs items-center gap-2 rounded-md bg-text px-2 py-1 text-xs leading-snug text-page shadow-card"
      >
        {text}
        {keys && <Keys keys={keys} tone="inverse" />}
      </Ariakit.Tooltip>
    </Ariakit.TooltipProvider>
  );
}

type ReasonProps = {
  /** Why the element inside is disabled; nothing if it is not. */
  reason: string | undefined;
  children: ReactElement;
};

/** Explains a disabled control to pointers, and in text to screen readers (N3). */
export function DisabledReason({ reason, children }: ReasonProps) {
  if (!reason) return children;
  return (
    <span className="inline-flex">
      <Tooltip text={reason}>{children}</Tooltip>
      <span className="sr-only">{reason}</span>
    </span>
  );
}
