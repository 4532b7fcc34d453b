import type { ReactNode } from "react";
import { Link } from "wouter";

const linkClass =
  "font-medium text-text underline decoration-line-strong underline-offset-4 hover:decoration-text";

type Props = { href: string; state?: unknown; onClick?: () => void; children: ReactNode };

/** An inline link to another page of the app. */
export function TextLink({ href, state, onClick, children }: Props) {
  return (
    <Link href={href} state={state} onClick={onClick} className={linkClass}>
      {children}
    </Link>
  );
}

/** A horizontal rule with a label in the middle. */
export function Divider({ children }: { children: string }) {
  return (
    <div className="flex items-center gap-4 text-sm text-soft">
      <span aria-hidden className="h-px flex-1 bg-line" />
      {children}
      <span aria-hidden className="h-px flex-1 bg-line" />
    </div>
  );
}
