import { type ReactNode, useState } from "react";

import { useFailureHandling } from "../lib/failure-handling";
import { useAction } from "../lib/use-action";
import { kitWords } from "../texts/kit-words";
import { words } from "../texts/words";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { TextField } from "./field";
import { Notice } from "./notice";

type Props = {
  title: string;
  /** The button: a verb and its object. */
  action: string;
  /** What has to be typed, usually the object's name; nothing for harmless actions. */
  typed?: string;
  onConfirm: () => Promise<void>;
  onClose: () => void;
  /** The consequences. */
  children: ReactNode;
};

/**
 * Confirms a destructive action (N6). The focus starts on Cancel, or in the field that wants the name. The
 * dialog stays open and shows the error if the action fails.
 */
export function ConfirmDialog({ title, action, typed, onConfirm, onClose, children }: Props) {
  const [text, setText] = useState("");
  const { describe } = useFailureHandling();
  const { run, isBusy, failure } = useAction(async () => {
    await onConfirm();
    onClose();
  });
  const isConfirmed = typed === undefined || text.trim() === typed;
  const confirm = () => {
    if (isConfirmed) void run();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button
            variant="secondary"
            data-safe={typed === undefined || undefined}
            onClick={onClose}
            disabled={isBusy}
          >
            {words.cancel}
          </Button>
          <Button variant="danger" disabled={!isConfirmed} isBusy={isBusy} onClick={confirm}>
            {action}
          </Button>
        </>
      }
    >
      <div className="grid gap-2 text-dense text-soft">{children}</div>
      {typed !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            confirm();
          }}
        >
          <TextField
            name="typed"
            label={kitWords.typeToConfirm(typed)}
            value={text}
            onValue={setText}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            className="font-mono"
          />
        </form>
      )}
      {failure && (
        <Notice tone="danger" role="alert">
          {describe(failure).text}
        </Notice>
      )}
    </Dialog>
  );
}
