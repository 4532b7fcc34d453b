// The way back to the application, on the account pages and after signing out.

import { useEffect } from "react";
import { useSearch } from "wouter";

import { isAccountPage, nextFromSearch } from "./navigation";
import { settings } from "./settings";

/** Where the user came from; links between the pages do not carry it. */
let cameFrom: string | null = null;

/** The `next` of this visit if it leads to the application, else the application itself, if it is known. */
export function useWayBack(): string | null {
  const next = nextFromSearch(useSearch());
  const application = next !== null && !isAccountPage(next) ? next : null;
  useEffect(() => {
    if (application !== null) cameFrom = application;
  }, [application]);
  return application ?? cameFrom ?? settings.application;
}
