import * as Ariakit from "@ariakit/react/dialog";
import clsx from "clsx";
import { X } from "lucide-react";
import type { ReactNode } from "react";

import { words } from "../texts/words";
import { focusFirst } from "./first-focus";
import { IconButton } from "./icon-button";

type Props = {
  title: ReactNode;
  /** One sentence below the title. */
  lead?: ReactNode;
  onClose: () => void;
  size?: "sm" | "md" | "lg";
  children: ReactNode;
  /** Buttons; `data-safe` marks the one that takes the focus first. */
  actions?: ReactNode;
};

const sizes = { sm: "max-w-md", md: "max-w-xl", lg: "max-w-3xl" };

/** A modal dialog. It is rendered while it is open. */
export function Dialog({ title, lead, onClose, size = "sm", children, actions }: Props) {
  const store = Ariakit.useDialogStore({ open: true, setOpen: (isOpen) => !isOpen && onClose() });
  return (
    <Ariakit.Dialog
      store={store}
      portal
      autoFocusOnShow={() => focusFirst(store.getState().contentElement)}
      backdrop={<div className="backdrop" />}
      className={clsx(
        "floating thin-scroll fixed inset-x-3 top-[max(0.75rem,10vh)] z-40 mx-auto flex max-h-[min(80vh,calc(100dvh-1.5rem))] flex-col overflow-y-auto rounded-lg bg-raised text-text shadow-float outline-none",
        sizes[size],
      )}
    >
      <div className="flex items-start justify-between gap-4 px-5 pt-4 pb-1">
        <div className="grid gap-0.5">
          <Ariakit.DialogHeading className="text-base font-semibold">{title}</Ariakit.DialogHeading>
          {lead && (
            <Ariakit.DialogDescription className="text-dense text-soft">{lead}</Ariakit.DialogDescription>
          )}
        </div>
        <IconButton label={words.close} icon={X} size="sm" onClick={onClose} className="-me-2 -mt-0.5" />
      </div>
      <div className="grid gap-4 px-5 pt-2 pb-5">{children}</div>
      {actions && (
        <div className="sticky bottom-0 flex flex-wrap-reverse justify-end gap-2 border-t border-line-soft bg-raised px-5 py-3">
          {actions}
        </div>
      )}
    </Ariakit.Dialog>
  );
}
