import { useLocation } from "wouter";

import { CardSkeleton, HeadingSkeleton } from "../components/states";
import { texts } from "./texts";
import { AccountFrame } from "./account-frame";
import { GuestSkeleton } from "./guest-layout";

/** Pages with a sentence below their heading. */
const pagesWithLead = [
  "/account",
  "/account/security",
  "/account/identities",
  "/account/sessions",
  "/account/delete",
];

/** A page for signed-in users while it loads: everything is already where it will be. */
export function AccountSkeleton() {
  const [path] = useLocation();
  return (
    <AccountFrame>
      <HeadingSkeleton hasLead={pagesWithLead.includes(path)} />
      <CardSkeleton label={texts.common.loading} />
    </AccountFrame>
  );
}

/** While the code of a route loads. */
export function RouteSkeleton() {
  const [path] = useLocation();
  return /^\/account(\/|$)/.test(path) ? <AccountSkeleton /> : <GuestSkeleton />;
}
