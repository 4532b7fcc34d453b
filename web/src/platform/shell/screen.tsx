// The layout of a screen: one heading, its actions, and the content below.

import clsx from "clsx";
import { type ReactNode, useEffect } from "react";

import { PageHeading } from "../../components/page-heading";
import { settings } from "../settings";
import { texts } from "../texts";

type Props = {
  title: string;
  /** Instead of the title, which then is the document's only. */
  heading?: ReactNode;
  lead?: ReactNode;
  /** At the end of the heading's line. */
  actions?: ReactNode;
  /** Text and forms read better in a narrow column. */
  width?: "wide" | "reading";
  children: ReactNode;
};

export function useDocumentTitle(title: string) {
  useEffect(() => {
    document.title = texts.shell.title(title, settings.instanceName);
  }, [title]);
}

export function Screen({ title, heading, lead, actions, width = "wide", children }: Props) {
  useDocumentTitle(title);
  return (
    <div
      className={clsx(
        "mx-auto grid w-full content-start gap-5 px-4 py-5 sm:px-6 sm:py-6",
        width === "wide" ? "max-w-[90rem]" : "max-w-2xl",
      )}
    >
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="grid min-w-0 gap-1">
          <PageHeading>{heading ?? title}</PageHeading>
          {lead && <div className="text-dense text-soft">{lead}</div>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** A page outside the frame: set-up, and what is said to people who may not come in. */
export function PlainPage({ title, lead, children }: Pick<Props, "title" | "lead" | "children">) {
  useDocumentTitle(title);
  return (
    <main id="content" className="mx-auto grid w-full max-w-md content-start gap-5 px-4 py-[12vh]">
      <div className="grid gap-1.5">
        <PageHeading>{title}</PageHeading>
        {lead && <p className="text-soft">{lead}</p>}
      </div>
      {children}
    </main>
  );
}
