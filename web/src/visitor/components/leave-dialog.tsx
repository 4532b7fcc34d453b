import { useLeaveQuestion } from "../../lib/unsaved-changes";
import { texts } from "../texts";
import { Button } from "../../components/button";
import { Dialog, DialogActions } from "./dialog";

/** Asks whether unsaved changes may be lost. */
export function LeaveDialog() {
  const question = useLeaveQuestion();
  if (!question) return null;
  return (
    <Dialog title={texts.common.leaveTitle} onClose={() => question.answer(false)}>
      <p className="text-soft">{texts.common.leaveText}</p>
      <DialogActions>
        <Button variant="secondary" data-safe onClick={() => question.answer(false)}>
          {texts.common.stay}
        </Button>
        <Button variant="danger" onClick={() => question.answer(true)}>
          {texts.common.leave}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
