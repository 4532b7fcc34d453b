import * as Ariakit from "@ariakit/react/dialog";
import clsx from "clsx";
import { X } from "lucide-react";
import type { ReactNode } from "react";

import { kitWords } from "../texts/kit-words";
import { focusFirst } from "./first-focus";
import { IconButton } from "./icon-button";

type Props = {
  title: ReactNode;
  onClose: () => void;
  side?: "start" | "end";
  /** Whether the page behind stays usable. */
  isModal?: boolean;
  /** Beside the title. */
  aside?: ReactNode;
  children: ReactNode;
  actions?: ReactNode;
};

/** A drawer from the edge of the window; a whole page on small screens. */
export function Sheet({ title, onClose, side = "end", isModal = true, aside, children, actions }: Props) {
  const store = Ariakit.useDialogStore({ open: true, setOpen: (isOpen) => !isOpen && onClose() });
  return (
    <Ariakit.Dialog
      store={store}
      modal={isModal}
      portal
      hideOnInteractOutside={isModal}
      autoFocusOnShow={() => focusFirst(store.getState().contentElement)}
      backdrop={isModal ? <div className="backdrop" /> : false}
      className={clsx(
        "drawer fixed inset-y-0 z-30 flex w-full flex-col bg-raised text-text shadow-float outline-none",
        side === "end" ? "end-0 sm:w-[min(32rem,90vw)]" : "drawer-start start-0 max-w-[min(20rem,88vw)]",
      )}
    >
      <div className="flex min-h-12 items-center justify-between gap-3 border-b border-line px-4 py-2">
        <Ariakit.DialogHeading className="min-w-0 truncate text-sm font-semibold">
          {title}
        </Ariakit.DialogHeading>
        <div className="flex items-center gap-1">
          {aside}
          <IconButton label={kitWords.closePanel} icon={X} size="sm" keys="esc" onClick={onClose} />
        </div>
      </div>
      <div className="thin-scroll grid min-h-0 flex-1 content-start gap-4 overflow-y-auto p-4">
        {children}
      </div>
      {actions && <div className="flex justify-end gap-2 border-t border-line px-4 py-3">{actions}</div>}
    </Ariakit.Dialog>
  );
}
