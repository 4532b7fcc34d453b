import { type ReactNode, useEffect, useRef } from "react";

/** Page views since the document was loaded: the first one leaves the focus to the browser. */
let pageViews = 0;

type Props = { takesFocus?: boolean | undefined; children: ReactNode };

/** The page's `h1`. Takes the focus after a client-side navigation, so that screen readers start there. */
export function PageHeading({ takesFocus = true, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);

  useEffect(() => {
    pageViews += 1;
    if (takesFocus && pageViews > 1) heading.current?.focus();
  }, [takesFocus]);

  return (
    <h1
      ref={heading}
      tabIndex={-1}
      className="text-[1.375rem] leading-snug font-semibold tracking-tight outline-none in-data-[app=account]:text-2xl"
    >
      {children}
    </h1>
  );
}
