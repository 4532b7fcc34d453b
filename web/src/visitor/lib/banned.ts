// `user_banned` replaces the current page by the page for suspended accounts (client contract 5.15).

import { createContext, useContext } from "react";

import type { Failure } from "../../lib/failure";

/** Shows the page for suspended accounts. */
export const BannedContext = createContext<() => void>(() => {});

/** Returns a handler that shows the page on `user_banned`, and whether it did. */
export function useBannedHandler() {
  const show = useContext(BannedContext);
  return ({ code }: Failure): boolean => {
    if (code === "user_banned") show();
    return code === "user_banned";
  };
}
