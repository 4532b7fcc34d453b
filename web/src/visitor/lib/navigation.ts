// Navigation and page state. State that must survive a reload but must not be in the URL, such as a typed
// e-mail address, is kept in sessionStorage; `history.state` holds only its key. Signing out clears it,
// which would be impossible for data in the history itself.

import { useLocation, useSearch } from "wouter";

import { getNext, hasForeignNext, stripMount, validateNext, withNext } from "../../lib/next-param";
import { settings } from "./settings";

export type PageState = { email?: string; phone?: string; notice?: string; kind?: string };

const storageKey = "plinth-page-state";

const storedPageStates = () =>
  JSON.parse(sessionStorage.getItem(storageKey) ?? "{}") as Record<string, PageState>;

/** Stores state for the next page, and returns the `history.state` that refers to it. */
export function storePageState(state: PageState | null | undefined): { pageState: string } | null {
  if (!state || !Object.values(state).some(Boolean)) return null;
  const id = Math.random().toString(36).slice(2);
  sessionStorage.setItem(storageKey, JSON.stringify({ ...storedPageStates(), [id]: state }));
  return { pageState: id };
}

export const clearPageState = () => sessionStorage.removeItem(storageKey);

/** The state that the previous page passed to this one. */
export function getPageState(): PageState {
  const { pageState: id = "" } = (window.history.state as { pageState?: string } | null) ?? {};
  return storedPageStates()[id] ?? {};
}

/** Sets the state of the current history entry, so that it survives a reload. */
export const replacePageState = (state: PageState) => window.history.replaceState(storePageState(state), "");

/** Never resolves: keeps a form busy while the browser navigates to another site. */
export const waitForUnload = () => new Promise<never>(() => {});

/** The valid `next` of the query, if any. */
export const nextFromSearch = (search: string) =>
  validateNext(getNext(search), window.location.origin, settings);

export function useNavigation() {
  const [currentPath, navigate] = useLocation();
  const search = useSearch();
  return {
    /** To one of these pages; keeps `next`. */
    to: (path: string, state: PageState = {}) => navigate(withNext(path, search), { state }),
    replace: (path: string, state: PageState = {}) => navigate(path, { state, replace: true }),
    /** After an anonymous user was upgraded: sets a password, then continues to `next`. */
    toFirstPassword: () =>
      navigate(withNext("/account/password", search), { state: { kind: "first" }, replace: true }),
    /** To `next`, or to the profile page. */
    toNext: (state: PageState = {}) => {
      const requested = nextFromSearch(search);
      // `next` may be the current page, which would be an endless redirect.
      const isCurrent =
        requested !== null && withoutQuery(stripMount(requested, settings.mount)) === currentPath;
      const next = requested === null || isCurrent ? `${settings.mount}/account` : requested;
      const own = stripMount(next, settings.mount);
      // The application is another document. So is a page with a `next` that the server has to check.
      if (own !== null && isAccountPage(next) && !hasForeignNext(own))
        navigate(own, { state, replace: true });
      else window.location.replace(next);
    },
  };
}

const withoutQuery = (path: string | null) => path?.replace(/\/*([?#].*)?$/s, "");

/** Whether `next` leads to one of these pages. */
export function isAccountPage(next: string): boolean {
  const own = stripMount(next, settings.mount);
  return own !== null && /^\/(account|sign-in|sign-up|reset-password)([/?#]|$)/.test(own);
}
