// Auth parameters of the URL that this document was opened with: the redirect target of e-mail links and
// OAuth providers.
//
// Codes, hashes, tokens and errors are removed from the URL before the app renders (client contract U6), so
// that they do not stay in the history, in copied links or in a Referer. Every page removes them; only
// `/confirm` and `/callback` use them.

export type RedirectError = { error: string; code: string };

export type RedirectParams = {
  code: string | null;
  tokenHash: string | null;
  type: string | null;
  error: RedirectError | null;
  /** Set after the first of the two confirmations of an e-mail change. */
  message: string | null;
};

const secretParams = [
  "code",
  "token",
  "token_hash",
  "access_token",
  "refresh_token",
  "provider_token",
  "provider_refresh_token",
  "type",
  "error",
  "error_code",
  "error_description",
  "message",
  "sb_flow_id",
  "sb",
];

/** Reads query and fragment; the query wins. */
export function readRedirectParams(url: URL): RedirectParams {
  const fragment = new URLSearchParams(url.hash.slice(1));
  const get = (name: string) => url.searchParams.get(name) ?? fragment.get(name);
  const error = get("error") ?? get("error_code") ?? get("error_description");
  return {
    code: get("code"),
    tokenHash: get("token_hash"),
    type: get("type"),
    message: get("message"),
    error:
      error === null
        ? null
        : {
            error: get("error") ?? "unspecified_error",
            code: get("error_code") ?? "unspecified_code",
          },
  };
}

/** The error code from the URL. URLs are untrusted input: the description is never shown, and only well-formed codes pass. */
export function redirectErrorCode({ error, code }: RedirectError): string {
  // A user who cancels at the provider has no error code of ours.
  const isOwn = code !== "unspecified_code" && !/^\d+$/.test(code);
  if (error === "access_denied" && (!isOwn || code === "bad_oauth_callback")) return error;
  const candidate = isOwn ? code : error;
  return /^[a-z0-9_]{1,64}$/.test(candidate) ? candidate : "unexpected_failure";
}

/** The URL without secrets. The whole fragment is dropped: the implicit flow puts tokens there. */
export function stripSecrets(url: URL): string {
  const clean = new URL(url);
  // `delete` re-serializes the query even if the parameter is absent.
  for (const name of secretParams) if (clean.searchParams.has(name)) clean.searchParams.delete(name);
  return clean.pathname + clean.search;
}

/** `history.state` keeps an unused link's token across a reload. */
type HistoryState = { redirectParams?: Pick<RedirectParams, "tokenHash" | "type"> } | null;

const noParams: RedirectParams = { code: null, tokenHash: null, type: null, error: null, message: null };

/** Strips the URL, and returns its parameters if the page expects any. */
export function consumeRedirectParams({
  location,
  history,
}: Pick<Window, "location" | "history">): RedirectParams {
  const url = new URL(location.href);
  const clean = stripSecrets(url);
  const isRedirectTarget = /\/(confirm|callback)\/?$/.test(url.pathname);
  if (!isRedirectTarget) {
    // Keep the page state (navigation.ts).
    if (clean !== url.pathname + url.search + url.hash) history.replaceState(history.state, "", clean);
    return noParams;
  }
  const params = readRedirectParams(url);
  const saved = (history.state as HistoryState)?.redirectParams;
  const { tokenHash, type } = params;
  if (!tokenHash && !params.code && !params.error && saved) {
    history.replaceState(history.state, "", clean);
    return { ...noParams, ...saved };
  }
  history.replaceState(tokenHash ? { redirectParams: { tokenHash, type } } : null, "", clean);
  return params;
}

export const redirectParams: RedirectParams =
  typeof window === "undefined" ? noParams : consumeRedirectParams(window);

/** Called once the link's token is used. */
export const clearRedirectParams = () => window.history.replaceState(null, "");
