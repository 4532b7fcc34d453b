import type { ReactNode } from "react";

import { errorText } from "../lib/error-text";
import { useAction } from "../../lib/use-action";
import { texts } from "../texts";
import { Button } from "../../components/button";
import { Dialog, DialogActions } from "./dialog";
import { Notice } from "../../components/notice";

type Props = {
  title: string;
  action: string;
  busyLabel: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
  children: ReactNode;
};

/** Confirms a destructive action. Stays open and shows the error if it fails. */
export function ConfirmDialog({ title, action, busyLabel, onConfirm, onClose, children }: Props) {
  const { run, isBusy, failure } = useAction(async () => {
    await onConfirm();
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="grid gap-3 text-soft">{children}</div>
      {failure && (
        <Notice tone="danger" role="alert">
          {errorText(failure).text}
        </Notice>
      )}
      <DialogActions>
        <Button variant="secondary" data-safe onClick={onClose} disabled={isBusy}>
          {texts.common.cancel}
        </Button>
        <Button variant="danger" isBusy={isBusy} busyLabel={busyLabel} onClick={() => void run()}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
