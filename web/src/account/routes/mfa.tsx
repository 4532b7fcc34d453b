import { useEffect } from "react";
import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { Challenge } from "../../features/step-up/challenge";
import { useGo } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { needsSecondStep, useSession } from "../../lib/session";
import { signOut } from "../../lib/sign-out";
import { takeDestination } from "../../lib/leaving";
import { useAction } from "../../lib/use-action";
import * as texts from "../../texts";
import { GuestPage, GuestSkeleton } from "../guest-layout";

/** `/sign-in/mfa`: nothing of the account is shown before the second step. */
export function Mfa() {
  const session = useSession();
  const go = useGo();
  const search = useSearch();
  const leave = useAction(() => signOut());
  const isNeeded = !!session && needsSecondStep(session);

  // Leaving is outside React: signed out here or elsewhere, or the step was taken.
  useEffect(() => {
    if (session === undefined || isNeeded) return;
    if (session) go.onwards();
    else go.replace(takeDestination() ?? keepNext("/sign-in?reason=expired", search));
    // oxlint-disable-next-line react/exhaustive-deps
  }, [session === undefined, session === null, isNeeded]);

  if (!isNeeded) return <GuestSkeleton />;
  return (
    <GuestPage
      title={texts.secondStep.title}
      lead={texts.secondStep.lead}
      takesFocus={false}
      foot={
        <Button
          variant="quiet"
          isBusy={leave.isBusy}
          busyLabel={texts.common.signingOut}
          onClick={() => void leave.run()}
        >
          {texts.common.signOut}
        </Button>
      }
    >
      <Challenge onDone={() => {}} />
    </GuestPage>
  );
}
