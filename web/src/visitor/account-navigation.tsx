import clsx from "clsx";
import {
  ChevronLeft,
  ChevronRight,
  KeyRound,
  Laptop,
  Link2,
  type LucideIcon,
  ShieldCheck,
  Trash2,
  UserRound,
} from "lucide-react";
import { useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";

import { settings } from "./lib/settings";
import { useScrollEdges } from "../lib/use-scroll-edges";
import { texts } from "./texts";

type Page = { path: string; label: string; icon: LucideIcon; subpages?: string[]; isHidden?: boolean };

const pages: Page[] = [
  { path: "/account", label: texts.accountLayout.profile, icon: UserRound, subpages: ["/account/email"] },
  { path: "/account/password", label: texts.accountLayout.password, icon: KeyRound },
  { path: "/account/security", label: texts.accountLayout.security, icon: ShieldCheck },
  { path: "/account/identities", label: texts.accountLayout.identities, icon: Link2 },
  { path: "/account/sessions", label: texts.accountLayout.sessions, icon: Laptop },
  {
    path: "/account/delete",
    label: texts.accountLayout.delete,
    icon: Trash2,
    isHidden: !settings.selfDelete,
  },
];

/** Links to the account pages: a column, or on small screens a row that scrolls. */
export function AccountNavigation() {
  const [location] = useLocation();
  const row = useRef<HTMLElement>(null);
  const edges = useScrollEdges(row);
  const isCurrent = ({ path, subpages }: Page) =>
    location === path ||
    !!subpages?.includes(location) ||
    (path !== "/account" && location.startsWith(`${path}/`));
  return (
    <div className="relative -mx-4 md:mx-0">
      <nav
        ref={row}
        aria-label={texts.accountLayout.navigation}
        className="overflow-x-auto px-4 py-1 md:overflow-visible md:px-0"
      >
        <ul className="flex gap-1 md:sticky md:top-8 md:flex-col">
          {pages
            .filter(({ isHidden }) => !isHidden)
            .map((page) => (
              <li key={page.path} className="shrink-0">
                <PageLink page={page} isCurrent={isCurrent(page)} />
              </li>
            ))}
        </ul>
      </nav>
      {edges.hasMoreBefore && <MoreMark side="start" />}
      {edges.hasMoreAfter && <MoreMark side="end" />}
    </div>
  );
}

/** Fades the row out where it goes on. */
function MoreMark({ side }: { side: "start" | "end" }) {
  const Icon = side === "start" ? ChevronLeft : ChevronRight;
  return (
    <span
      aria-hidden
      data-more={side}
      className={clsx(
        "pointer-events-none absolute inset-y-0 flex w-14 items-center text-soft md:hidden",
        side === "start"
          ? "start-0 justify-start bg-linear-to-r from-page from-45% to-transparent ps-1.5 rtl:bg-linear-to-l"
          : "end-0 justify-end bg-linear-to-l from-page from-45% to-transparent pe-1.5 rtl:bg-linear-to-r",
      )}
    >
      <Icon className="size-5 rtl:-scale-x-100" />
    </span>
  );
}

function PageLink({ page, isCurrent }: { page: Page; isCurrent: boolean }) {
  const link = useRef<HTMLAnchorElement>(null);
  // On small screens the navigation scrolls horizontally; keep the current page in view.
  useEffect(() => {
    if (isCurrent) link.current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [isCurrent]);
  return (
    <Link
      ref={link}
      href={page.path}
      aria-current={isCurrent ? "page" : undefined}
      className={clsx(
        "flex min-h-10 items-center gap-3 rounded-md px-3 text-[0.9375rem] whitespace-nowrap transition-colors duration-(--ease) md:whitespace-normal md:py-1.5 md:leading-snug",
        isCurrent ? "bg-sunk font-medium text-text" : "text-soft hover:bg-hover hover:text-text",
      )}
    >
      <page.icon aria-hidden className="size-4 shrink-0" />
      {page.label}
    </Link>
  );
}
