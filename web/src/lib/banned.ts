// A suspended account gets a page of its own (client contract 5.15), whichever form or button heard of it.

import { createContext, useContext } from "react";

import type { Failure } from "./failure";

/** Shows the page. */
export const BannedContext = createContext<() => void>(() => {});

/** Shows the page if a failure says so; whether it did. */
export function useBanned() {
  const show = useContext(BannedContext);
  return ({ code }: Failure): boolean => {
    if (code === "user_banned") show();
    return code === "user_banned";
  };
}
