// The one-time token of the set-up link. It is taken from the address at once, so that it stays neither in the
// history nor in a copied link; a reload of the tab still knows it.

const storageKey = "plinth-setup-token";

type Place = Pick<Window, "location" | "history" | "sessionStorage">;

/** From `#token=…` or `?token=…`, else what this tab has seen before. */
export function takeSetupToken({ location, history, sessionStorage }: Place): string | null {
  const url = new URL(location.href);
  const token = new URLSearchParams(url.hash.slice(1)).get("token") ?? url.searchParams.get("token");
  if (token === null) return sessionStorage.getItem(storageKey);
  url.searchParams.delete("token");
  history.replaceState(history.state, "", url.pathname + url.search);
  sessionStorage.setItem(storageKey, token);
  return token;
}

export const forgetSetupToken = ({ sessionStorage }: Pick<Window, "sessionStorage">) =>
  sessionStorage.removeItem(storageKey);
