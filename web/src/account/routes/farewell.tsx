import { Link } from "wouter";

import { buttonClass } from "../../components/button";
import { settings } from "../../lib/settings";
import { GuestPage } from "../guest-layout";

export function SignedOut() {
  return (
    <GuestPage title="You're signed out" lead="Your session on this device has ended.">
      <Link href="/sign-in" className={buttonClass("primary", "md", "w-full")}>
        Sign in again
      </Link>
    </GuestPage>
  );
}

export function Goodbye() {
  return (
    <GuestPage title="Your account is deleted" lead={`Thank you for having been with ${settings.title}.`}>
      <p className="text-soft">Nothing of it is left on this device. You can close this page.</p>
    </GuestPage>
  );
}

export function NotFound() {
  return (
    <GuestPage title="There is no such page" lead="The address may be mistyped, or the page has moved.">
      <Link href="/account" className={buttonClass("secondary", "md", "w-full")}>
        Go to your account
      </Link>
    </GuestPage>
  );
}
