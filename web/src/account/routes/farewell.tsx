import { Link } from "wouter";

import { buttonClass } from "../../components/button";
import { settings } from "../../lib/settings";
import * as texts from "../../texts";
import { GuestPage } from "../guest-layout";

export function SignedOut() {
  return (
    <GuestPage title={texts.farewell.signedOut} lead={texts.farewell.signedOutLead}>
      <Link href="/sign-in" className={buttonClass("primary", "md", "w-full")}>
        {texts.farewell.signInAgain}
      </Link>
    </GuestPage>
  );
}

export function Goodbye() {
  return (
    <GuestPage title={texts.farewell.deleted} lead={texts.farewell.deletedLead(settings.title)}>
      <p className="text-soft">{texts.farewell.nothingLeft}</p>
    </GuestPage>
  );
}

export function NotFound() {
  return (
    <GuestPage title={texts.guestFrame.noPage} lead={texts.guestFrame.noPageLead}>
      <Link href="/account" className={buttonClass("secondary", "md", "w-full")}>
        {texts.guestFrame.toAccount}
      </Link>
    </GuestPage>
  );
}
