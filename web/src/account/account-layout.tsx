import clsx from "clsx";
import {
  KeyRound,
  Laptop,
  Link2,
  LogOut,
  type LucideIcon,
  ShieldCheck,
  Trash2,
  UserRound,
} from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";

import { Button } from "../components/button";
import { Notice } from "../components/notice";
import { PageHeading } from "../components/page-heading";
import { TextLink } from "../components/text-link";
import { useSession } from "../lib/session";
import { settings } from "../lib/settings";
import { signOut } from "../lib/sign-out";
import { canLeave } from "../lib/unsaved";
import { useAction } from "../lib/use-action";
import { usePageTitle } from "../lib/use-page-title";
import { endAdvice, useAdvice } from "../lib/weak-password";
import * as texts from "../texts";
import { Brand, Links } from "./guest-layout";

type Page = { path: string; label: string; icon: LucideIcon; below?: string[]; isHidden?: boolean };

const pages: Page[] = [
  { path: "/account", label: texts.accountFrame.profile, icon: UserRound, below: ["/account/email"] },
  { path: "/account/password", label: texts.accountFrame.password, icon: KeyRound },
  { path: "/account/security", label: texts.accountFrame.security, icon: ShieldCheck },
  { path: "/account/identities", label: texts.accountFrame.identities, icon: Link2 },
  { path: "/account/sessions", label: texts.accountFrame.sessions, icon: Laptop },
  {
    path: "/account/delete",
    label: texts.accountFrame.delete,
    icon: Trash2,
    isHidden: !settings.selfDelete,
  },
];

/** The frame of everything behind the sign-in. */
export function AccountShell({ children }: { children: ReactNode }) {
  const session = useSession();
  const leave = useAction(() => signOut());
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#content"
        className="sr-only z-20 rounded-md bg-text px-4 py-2 text-page focus:not-sr-only focus:fixed focus:start-4 focus:top-4"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        {texts.accountFrame.skip}
      </a>
      <header className="border-b border-line bg-surface">
        <div className="mx-auto flex max-w-5xl items-center justify-between gap-6 px-4 py-3 sm:px-6">
          <Brand />
          <div className="flex min-w-0 items-center gap-4">
            <span className="hidden truncate text-sm text-soft sm:block">
              {session?.user.email || session?.user.phone}
            </span>
            <Button
              variant="secondary"
              size="sm"
              isBusy={leave.isBusy}
              busyLabel={texts.common.signingOut}
              onClick={() => {
                if (canLeave()) void leave.run();
              }}
            >
              <LogOut aria-hidden className="size-4" />
              <span className="max-sm:sr-only">{texts.common.signOut}</span>
            </Button>
          </div>
        </div>
      </header>
      <div className="mx-auto grid w-full max-w-5xl flex-1 content-start gap-6 px-4 py-6 sm:px-6 md:grid-cols-[14rem_1fr] md:gap-12 md:py-10">
        <Navigation />
        <main id="content" tabIndex={-1} className="min-w-0">
          {session && <PasswordAdvice userId={session.user.id} />}
          {children}
        </main>
      </div>
      <div className="pb-8">
        <Links />
      </div>
    </div>
  );
}

function Navigation() {
  const [location] = useLocation();
  const isAt = ({ path, below }: Page) =>
    location === path ||
    !!below?.includes(location) ||
    (path !== "/account" && location.startsWith(`${path}/`));
  return (
    <nav
      aria-label={texts.accountFrame.navigation}
      className="-mx-4 overflow-x-auto px-4 py-1 md:mx-0 md:overflow-visible md:px-0"
    >
      <ul className="flex gap-1 md:sticky md:top-8 md:flex-col">
        {pages
          .filter(({ isHidden }) => !isHidden)
          .map((page) => (
            <li key={page.path} className="shrink-0">
              <PageLink page={page} isCurrent={isAt(page)} />
            </li>
          ))}
      </ul>
    </nav>
  );
}

function PageLink({ page, isCurrent }: { page: Page; isCurrent: boolean }) {
  const link = useRef<HTMLAnchorElement>(null);
  // On small screens the list is a strip, whose place is outside React: where one is must be in sight.
  useEffect(() => {
    if (isCurrent) link.current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [isCurrent]);
  return (
    <Link
      ref={link}
      href={page.path}
      aria-current={isCurrent ? "page" : undefined}
      className={clsx(
        "flex min-h-10 items-center gap-3 rounded-md px-3 text-[0.9375rem] whitespace-nowrap transition-colors duration-(--ease)",
        isCurrent ? "bg-sunk font-medium text-text" : "text-soft hover:bg-hover hover:text-text",
      )}
    >
      <page.icon aria-hidden className="size-4 shrink-0" />
      {page.label}
    </Link>
  );
}

function PasswordAdvice({ userId }: { userId: string }) {
  const isShown = useAdvice(userId);
  if (!isShown) return null;
  return (
    <div className="mb-6">
      <Notice tone="warn" role="status">
        <p>{texts.accountFrame.weakPassword}</p>
        <p className="flex flex-wrap items-center gap-x-5">
          <TextLink href="/account/password" onClick={endAdvice}>
            {texts.accountFrame.chooseStronger}
          </TextLink>
          <Button variant="quiet" size="text" onClick={endAdvice}>
            {texts.accountFrame.notNow}
          </Button>
        </p>
      </Notice>
    </div>
  );
}

/** An address below the account that leads nowhere. */
export function AccountNotFound() {
  return (
    <AccountPage title={texts.guestFrame.noPage} lead={texts.guestFrame.noPageLead}>
      <p>
        <TextLink href="/account">{texts.accountFrame.toProfile}</TextLink>
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
