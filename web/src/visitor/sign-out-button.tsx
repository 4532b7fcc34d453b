import { Button } from "../components/button";
import { useNavigation } from "./lib/navigation";
import { endRecovery } from "./lib/session";
import { signOut } from "./lib/sign-out";
import { takeSignOutRedirect } from "./lib/sign-out-redirect";
import { useAction } from "../lib/use-action";
import { texts } from "./texts";

/** Sign-out for pages without a route guard. */
export function SignOutButton() {
  const nav = useNavigation();
  const signingOut = useAction(async () => {
    endRecovery();
    try {
      await signOut();
    } finally {
      // Also if the request failed: the local session is gone.
      takeSignOutRedirect();
      nav.replace("/signed-out");
    }
  });
  return (
    <Button
      variant="quiet"
      isBusy={signingOut.isBusy}
      busyLabel={texts.common.signingOut}
      onClick={() => void signingOut.run()}
    >
      {texts.common.signOut}
    </Button>
  );
}
