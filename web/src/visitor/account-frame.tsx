// The frame of the pages for signed-in users: header and navigation. It is part of the first bundle, so
// that it stands while the pages and the user's data load, and nothing moves when they arrive.

import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";

import { useWayBack } from "./lib/way-back";
import { backToApplication } from "./lib/service";
import { texts } from "./texts";
import { AccountNavigation } from "./account-navigation";
import { Brand, FooterLinks } from "./guest-layout";

type Props = {
  /** At the end of the header. */
  user?: ReactNode;
  children: ReactNode;
};

export function AccountFrame({ user, children }: Props) {
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
        {texts.accountLayout.skip}
      </a>
      <header className="border-b border-line bg-surface">
        <div className="mx-auto flex max-w-5xl items-center justify-between gap-6 px-4 py-3 sm:px-6">
          <Brand />
          <div className="flex min-h-9 min-w-0 items-center gap-4">{user}</div>
        </div>
      </header>
      <div className="mx-auto grid w-full max-w-5xl flex-1 grid-cols-1 content-start gap-6 px-4 py-6 sm:px-6 md:grid-cols-[15rem_1fr] md:gap-12 md:py-10">
        <div className="grid min-w-0 grid-cols-1 content-start gap-4">
          <WayBack />
          <AccountNavigation />
        </div>
        <main id="content" tabIndex={-1} className="min-w-0">
          {children}
        </main>
      </div>
      <div className="pb-8">
        <FooterLinks />
      </div>
    </div>
  );
}

function WayBack() {
  const url = useWayBack();
  if (url === null) return null;
  return (
    <a
      href={url}
      className="flex min-h-9 items-center gap-3 justify-self-start rounded-md text-[0.9375rem] text-soft underline-offset-4 hover:text-text hover:underline md:px-3"
    >
      <ArrowLeft aria-hidden className="size-4 shrink-0" />
      {backToApplication}
    </a>
  );
}
