import { type ReactNode, useState } from "react";

import { CaptchaContainer } from "./components/captcha-container";
import { PageHeading } from "../components/page-heading";
import { LoadError, Skeleton } from "../components/states";
import { serviceName } from "./lib/service";
import { settings } from "./lib/settings";
import { usePageTitle } from "./lib/use-page-title";
import { texts } from "./texts";

type Props = {
  title: string;
  lead?: ReactNode;
  hasError?: boolean;
  /** Whether the heading takes the focus; false if a field has autofocus. */
  takesFocus?: boolean;
  /** Links below the card. */
  footer?: ReactNode;
  children?: ReactNode;
};

/** A page for guests: one centered card. */
export function GuestPage({ title, lead, hasError = false, takesFocus, footer, children }: Props) {
  usePageTitle(title, hasError);
  return (
    <Layout>
      <div className="rounded-lg border border-line bg-surface p-6 shadow-card sm:p-8">
        <div className="mb-6 grid gap-2">
          <PageHeading takesFocus={takesFocus}>{title}</PageHeading>
          {lead && <div className="text-soft">{lead}</div>}
        </div>
        <div className="grid gap-5">
          {children}
          <CaptchaContainer />
        </div>
      </div>
      {footer && <div className="mt-6 text-center text-sm text-soft">{footer}</div>}
    </Layout>
  );
}

/** The same layout while loading. */
export function GuestSkeleton() {
  return (
    <Layout>
      <div className="rounded-lg border border-line bg-surface p-6 shadow-card sm:p-8">
        <Skeleton label={texts.common.loading} lines={6} />
      </div>
    </Layout>
  );
}

export function GuestLoadError({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <GuestPage title={texts.guestLayout.wentWrong} hasError>
      <LoadError error={error} onRetry={onRetry} />
    </GuestPage>
  );
}

function Layout({ children }: { children: ReactNode }) {
  return (
    <div className="flex min-h-dvh flex-col px-4 py-8 sm:py-12">
      <header className="mb-8 flex justify-center">
        <Brand />
      </header>
      <main className="mx-auto w-full max-w-[26.5rem] flex-1">{children}</main>
      <FooterLinks />
    </div>
  );
}

export function Brand() {
  const { logo } = settings;
  const title = serviceName;
  const [isBroken, setBroken] = useState(false);
  if (logo && !isBroken) {
    return (
      <img src={logo} alt={title} onError={() => setBroken(true)} className="h-9 max-w-48 object-contain" />
    );
  }
  return (
    <p className="flex min-w-0 items-center gap-2.5 text-lg font-semibold tracking-tight">
      <span
        aria-hidden
        className="grid size-8 shrink-0 place-items-center rounded-md bg-accent text-sm text-on-accent"
      >
        {title.slice(0, 1).toUpperCase()}
      </span>
      <span className="truncate">{title}</span>
    </p>
  );
}

export function FooterLinks() {
  const links = [
    [texts.guestLayout.support, settings.supportUrl],
    [texts.guestLayout.terms, settings.termsUrl],
    [texts.guestLayout.privacy, settings.privacyUrl],
  ].filter((entry): entry is [string, string] => !!entry[1]);
  if (links.length === 0) return null;
  return (
    <footer className="mt-10">
      <ul className="flex flex-wrap justify-center gap-x-6 gap-y-2 text-sm text-soft">
        {links.map(([label, url]) => (
          <li key={label}>
            <a href={url} className="inline-block py-1 underline-offset-4 hover:text-text hover:underline">
              {label}
            </a>
          </li>
        ))}
      </ul>
    </footer>
  );
}
