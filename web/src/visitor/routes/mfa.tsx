import { useEffect } from "react";
import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { Challenge } from "../features/step-up/challenge";
import { useNavigation } from "../lib/navigation";
import { withNext } from "../../lib/next-param";
import { needsSecondFactor, useSession } from "../lib/session";
import { signOut } from "../lib/sign-out";
import { takeSignOutRedirect } from "../lib/sign-out-redirect";
import { useAction } from "../../lib/use-action";
import { texts } from "../texts";
import { GuestPage, GuestSkeleton } from "../guest-layout";

/** `/sign-in/mfa`: shows no account data before the second factor is verified. */
export function Mfa() {
  const session = useSession();
  const nav = useNavigation();
  const search = useSearch();
  const signingOut = useAction(() => signOut());
  const isNeeded = !!session && needsSecondFactor(session);

  // Redirect once the factor is verified, or the user signed out here or elsewhere.
  useEffect(() => {
    if (session === undefined || isNeeded) return;
    if (session) nav.toNext();
    else nav.replace(takeSignOutRedirect() ?? withNext("/sign-in?reason=expired", search));
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session === undefined, session === null, isNeeded]);

  if (!isNeeded) return <GuestSkeleton />;
  return (
    <GuestPage
      title={texts.secondStep.title}
      lead={texts.secondStep.lead}
      takesFocus={false}
      footer={
        <Button
          variant="quiet"
          isBusy={signingOut.isBusy}
          busyLabel={texts.common.signingOut}
          onClick={() => void signingOut.run()}
        >
          {texts.common.signOut}
        </Button>
      }
    >
      <Challenge onDone={() => {}} />
    </GuestPage>
  );
}
