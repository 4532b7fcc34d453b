import { Link, useSearch } from "wouter";

import { buttonClass } from "../../components/button";
import { withNext } from "../../lib/next-param";
import { backToApplication, serviceName } from "../lib/service";
import { useWayBack } from "../lib/way-back";
import { texts } from "../texts";
import { GuestPage } from "../guest-layout";

export function SignedOut() {
  const search = useSearch();
  return (
    <GuestPage title={texts.signedOut.title} lead={texts.signedOut.lead}>
      <Link href={withNext("/sign-in", search)} className={buttonClass("primary", "md", "w-full")}>
        {texts.signedOut.signInAgain}
      </Link>
      <BackToApplication />
    </GuestPage>
  );
}

export function AccountDeleted() {
  return (
    <GuestPage title={texts.accountDeleted.title} lead={texts.accountDeleted.lead(serviceName)}>
      <p className="text-soft">{texts.accountDeleted.nothingLeft}</p>
      <BackToApplication />
    </GuestPage>
  );
}

function BackToApplication() {
  const url = useWayBack();
  if (url === null) return null;
  return (
    <a href={url} className={buttonClass("secondary", "md", "w-full")}>
      {backToApplication}
    </a>
  );
}

export function NotFound() {
  return (
    <GuestPage title={texts.guestLayout.noPage} lead={texts.guestLayout.noPageLead}>
      <Link href="/account" className={buttonClass("secondary", "md", "w-full")}>
        {texts.guestLayout.toAccount}
      </Link>
    </GuestPage>
  );
}
