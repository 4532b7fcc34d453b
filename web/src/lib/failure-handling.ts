// What an app does about failed calls: the words for them, and those that concern the whole page, such as the
// end of the session. Each app provides its own; forms and actions know only this.

import { createContext, useContext } from "react";

import type { Failure } from "./failure";

/** Where a message is shown. `signed-out` ends the session. */
export type Place = "field" | "banner" | "page" | "toast" | "signed-out";

export type Message = { place: Place; text: string; field?: string };

export type FailureHandling = {
  /** The message for a failure; `screen` selects words of its own. */
  describe: (failure: Failure, screen?: string) => Message;
  /** Replaces the page if the failure demands it, and returns whether it did. */
  replacePage: (failure: Failure) => boolean;
  /** Ends the session if the server no longer accepts it. */
  endSession: (failure: Failure) => void;
};

export const FailureHandlingContext = createContext<FailureHandling>({
  describe: ({ message, code }) => ({ place: "banner", text: message || code }),
  replacePage: () => false,
  endSession: () => {},
});

export const useFailureHandling = () => useContext(FailureHandlingContext);
