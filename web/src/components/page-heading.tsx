import { type ReactNode, useEffect, useRef } from "react";

/** Pages since the document was loaded: the first one leaves the focus to the browser. */
let pages = 0;

type Props = { takesFocus?: boolean | undefined; children: ReactNode };

/** The one `h1`. After a change of page it takes the focus, so that screen readers begin there. */
export function PageHeading({ takesFocus = true, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);

  // Focus is outside React.
  useEffect(() => {
    pages += 1;
    if (takesFocus && pages > 1) heading.current?.focus();
  }, [takesFocus]);

  return (
    <h1 ref={heading} tabIndex={-1} className="text-2xl font-semibold tracking-tight">
      {children}
    </h1>
  );
}
