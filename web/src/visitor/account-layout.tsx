import { LogOut } from "lucide-react";
import type { ReactNode } from "react";

import { Button } from "../components/button";
import { Notice } from "../components/notice";
import { PageHeading } from "../components/page-heading";
import { TextLink } from "./components/text-link";
import { useSession } from "./lib/session";
import { signOut } from "./lib/sign-out";
import { leavePage } from "../lib/unsaved-changes";
import { useAction } from "../lib/use-action";
import { usePageTitle } from "./lib/use-page-title";
import { dismissWeakPasswordWarning, useWeakPasswordWarning } from "./lib/weak-password";
import { texts } from "./texts";
import { AccountFrame } from "./account-frame";

/** Layout of all pages for signed-in users. */
export function AccountShell({ children }: { children: ReactNode }) {
  const session = useSession();
  return (
    <AccountFrame user={<CurrentUser />}>
      {session && <WeakPasswordNotice userId={session.user.id} />}
      {children}
    </AccountFrame>
  );
}

function CurrentUser() {
  const session = useSession();
  const signingOut = useAction(() => signOut());
  return (
    <>
      <span className="hidden truncate text-sm text-soft sm:block">
        {session?.user.email || session?.user.phone}
      </span>
      <Button
        variant="secondary"
        size="sm"
        className="shrink-0"
        isBusy={signingOut.isBusy}
        busyLabel={texts.common.signingOut}
        onClick={() => leavePage(() => void signingOut.run())}
      >
        <LogOut aria-hidden className="size-4" />
        <span className="max-sm:sr-only">{texts.common.signOut}</span>
      </Button>
    </>
  );
}

function WeakPasswordNotice({ userId }: { userId: string }) {
  const isShown = useWeakPasswordWarning(userId);
  if (!isShown) return null;
  return (
    <div className="mb-6">
      <Notice tone="warn" role="status">
        <p>{texts.accountLayout.weakPassword}</p>
        <p className="flex flex-wrap items-center gap-x-5">
          <TextLink href="/account/password" onClick={dismissWeakPasswordWarning}>
            {texts.accountLayout.chooseStronger}
          </TextLink>
          <Button variant="quiet" size="text" onClick={dismissWeakPasswordWarning}>
            {texts.accountLayout.notNow}
          </Button>
        </p>
      </Notice>
    </div>
  );
}

/** Unknown path below `/account`. */
export function AccountNotFound() {
  return (
    <AccountPage title={texts.guestLayout.noPage} lead={texts.guestLayout.noPageLead}>
      <p>
        <TextLink href="/account">{texts.accountLayout.toProfile}</TextLink>
      </p>
    </AccountPage>
  );
}

type PageProps = { title: string; lead?: ReactNode; hasError?: boolean; children: ReactNode };

export function AccountPage({ title, lead, hasError = false, children }: PageProps) {
  usePageTitle(title, hasError);
  return (
    <>
      <div className="mb-6 grid gap-1.5">
        <PageHeading>{title}</PageHeading>
        {lead && <div className="max-w-prose text-soft">{lead}</div>}
      </div>
      <div className="grid gap-6">{children}</div>
    </>
  );
}
