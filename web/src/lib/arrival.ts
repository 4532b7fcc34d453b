// What came with the address that this page was opened with.
//
// Codes, hashes and errors are taken out of the address before anything else happens (client
// contract U6): they must not stay in the history, in a copied link or in a Referer.

export type Arrival = {
  code: string | null;
  tokenHash: string | null;
  type: string | null;
  error: { error: string; code: string; description: string } | null;
  /** Said after the first of two confirmations. */
  message: string | null;
};

const secrets = [
  "code",
  "token_hash",
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
            description: get("error_description") ?? "",
          },
  };
}

/** The address without them. The fragment goes as a whole: tokens of older flows are in it. */
export function withoutSecrets(url: URL): string {
  const clean = new URL(url);
  for (const name of secrets) clean.searchParams.delete(name);
  return clean.pathname + clean.search;
}

/** A link that was opened but not used yet outlives a reload, in the state of the history entry. */
type Kept = { arrival?: Pick<Arrival, "tokenHash" | "type"> } | null;

const nothing: Arrival = { code: null, tokenHash: null, type: null, error: null, message: null };

function take(): Arrival {
  const url = new URL(window.location.href);
  const isReturn = /\/(confirm|callback)\/?$/.test(url.pathname);
  if (!isReturn) return nothing;
  const arrival = readArrival(url);
  const kept = (window.history.state as Kept)?.arrival;
  if (!arrival.tokenHash && !arrival.code && !arrival.error && kept) return { ...nothing, ...kept };
  const { tokenHash, type } = arrival;
  window.history.replaceState(tokenHash ? { arrival: { tokenHash, type } } : null, "", withoutSecrets(url));
  return arrival;
}

export const arrival: Arrival = typeof window === "undefined" ? nothing : take();

/** The link was used: nothing of it is kept. */
export const forgetArrival = () => window.history.replaceState(null, "");
