// Moving between pages. What must survive a reload but not stand in an address, such as the e-mail
// that somebody typed, is laid down in the tab's storage; the history entry says where. The history
// outlives whoever typed it, and what was laid down does not.

import { useLocation, useSearch } from "wouter";

import { belowMount, checkedNext, keepNext } from "./next";
import { settings } from "./settings";

export type Carried = { email?: string; phone?: string; notice?: string; kind?: string };

const key = "plinth-carried";

const allLaidDown = () => JSON.parse(sessionStorage.getItem(key) ?? "{}") as Record<string, Carried>;

/** Lays something down for another page, and gives what the entry in the history says of it. */
export function layDown(carrying: Carried | null | undefined): { carried: string } | null {
  if (!carrying || !Object.values(carrying).some(Boolean)) return null;
  const place = Math.random().toString(36).slice(2);
  sessionStorage.setItem(key, JSON.stringify({ ...allLaidDown(), [place]: carrying }));
  return { carried: place };
}

/** Whoever it was from has left. */
export const forgetCarried = () => sessionStorage.removeItem(key);

/** What the page before handed over. */
export function carried(): Carried {
  const { carried: place = "" } = (window.history.state as { carried?: string } | null) ?? {};
  return allLaidDown()[place] ?? {};
}

/** Hands it over to this very page, for when it is loaded again. */
export const keepHere = (state: Carried) => window.history.replaceState(layDown(state), "");

/** The client has sent the browser elsewhere: what waits for this stays busy until the page is gone. */
export const leavingNow = () => new Promise<never>(() => {});

/** Where to go once somebody is signed in. */
export const nextOf = (search: string) =>
  checkedNext(new URLSearchParams(search).get("next"), window.location.origin);

export function useGo() {
  const [here, navigate] = useLocation();
  const search = useSearch();
  return {
    /** To a page of ours, with `next` kept. */
    to: (path: string, state: Carried = {}) => navigate(keepNext(path, search), { state }),
    replace: (path: string, state: Carried = {}) => navigate(path, { state, replace: true }),
    /** Where somebody who has got a name chooses a password, and goes on. */
    toFirstPassword: () =>
      navigate(keepNext("/account/password", search), { state: { kind: "first" }, replace: true }),
    /** To `next`, or to the account. */
    onwards: (state: Carried = {}) => {
      const asked = nextOf(search);
      // A page that leads to itself would never be left.
      const isHere = asked !== null && pathOf(belowMount(asked, settings.mount)) === here;
      const next = asked === null || isHere ? `${settings.mount}/account` : asked;
      const own = belowMount(next, settings.mount);
      // Addresses that are not ours belong to the application, which is another document.
      if (own !== null && isOurs(own)) navigate(own, { state, replace: true });
      else window.location.replace(next);
    },
  };
}

const pathOf = (address: string | null) => address?.replace(/\/*([?#].*)?$/s, "");

const isOurs = (path: string) => /^\/(account|sign-in|sign-up|reset-password)([/?#]|$)/.test(path);
