import { Button } from "../components/button";
import { takeDestination } from "../lib/leaving";
import { useGo } from "../lib/navigation";
import { endRecovery } from "../lib/session";
import { signOut } from "../lib/sign-out";
import { useAction } from "../lib/use-action";
import * as texts from "../texts";

/** The way out of a page that no guard leads away from. */
export function SignOutButton() {
  const go = useGo();
  const leave = useAction(async () => {
    endRecovery();
    try {
      await signOut();
    } finally {
      // Also when the server could not be told: this device has forgotten the session.
      takeDestination();
      go.replace("/signed-out");
    }
  });
  return (
    <Button
      variant="quiet"
      isBusy={leave.isBusy}
      busyLabel={texts.common.signingOut}
      onClick={() => void leave.run()}
    >
      {texts.common.signOut}
    </Button>
  );
}
