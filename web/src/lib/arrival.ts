// What came with the address that this page was opened with.
//
// Codes, hashes, tokens and errors are taken out of the address before anything else happens (client
// contract U6): they must not stay in the history, in a copied link or in a Referer. That is so on every
// page, wherever a link was led to; only the pages that expect them make use of them.

export type ArrivalError = { error: string; code: string };

export type Arrival = {
  code: string | null;
  tokenHash: string | null;
  type: string | null;
  error: ArrivalError | null;
  /** Said after the first of two confirmations. */
  message: string | null;
};

const secrets = [
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

/** Reads the parameters of both parts; those of the query win. */
export function readArrival(url: URL): Arrival {
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

/** Anybody can write an address: of an error in it nothing but a code is believed, and its words never. */
export function codeOf({ error, code }: ArrivalError): string {
  // A refusal at the provider has no code of ours.
  const isOwn = code !== "unspecified_code" && !/^\d+$/.test(code);
  if (error === "access_denied" && (!isOwn || code === "bad_oauth_callback")) return error;
  const said = isOwn ? code : error;
  return /^[a-z0-9_]{1,64}$/.test(said) ? said : "unexpected_failure";
}

/** The address without them. The fragment goes as a whole: tokens of older flows are in it. */
export function withoutSecrets(url: URL): string {
  const clean = new URL(url);
  // What has nothing to delete would still be written anew.
  for (const name of secrets) if (clean.searchParams.has(name)) clean.searchParams.delete(name);
  return clean.pathname + clean.search;
}

/** A link that was opened but not used yet outlives a reload, in the state of the history entry. */
type Kept = { arrival?: Pick<Arrival, "tokenHash" | "type"> } | null;

const nothing: Arrival = { code: null, tokenHash: null, type: null, error: null, message: null };

/** Cleans the address of a window, and says what was in it if its page expects something. */
export function takeArrival({ location, history }: Pick<Window, "location" | "history">): Arrival {
  const url = new URL(location.href);
  const clean = withoutSecrets(url);
  const isReturn = /\/(confirm|callback)\/?$/.test(url.pathname);
  if (!isReturn) {
    // What the page before handed over is in the state, and stays.
    if (clean !== url.pathname + url.search + url.hash) history.replaceState(history.state, "", clean);
    return nothing;
  }
  const arrival = readArrival(url);
  const kept = (history.state as Kept)?.arrival;
  const { tokenHash, type } = arrival;
  if (!tokenHash && !arrival.code && !arrival.error && kept) {
    history.replaceState(history.state, "", clean);
    return { ...nothing, ...kept };
  }
  history.replaceState(tokenHash ? { arrival: { tokenHash, type } } : null, "", clean);
  return arrival;
}

export const arrival: Arrival = typeof window === "undefined" ? nothing : takeArrival(window);

/** The link was used: nothing of it is kept. */
export const forgetArrival = () => window.history.replaceState(null, "");
