// A call that did not work out, in one form for all pages.

type Details = { retryAfter: number | null; requestId: string | null };

const noDetails: Details = { retryAfter: null, requestId: null };

/** Why a call failed. `code` is the server's, or one of ours, such as `offline`. */
export class Failure extends Error {
  readonly code: string;
  readonly reasons: readonly string[];
  readonly details: Details;

  constructor(code: string, message: string, reasons: readonly string[] = [], details = noDetails) {
    super(message);
    this.name = "Failure";
    this.code = code;
    this.reasons = reasons;
    this.details = details;
  }
}

/** Errors of the client do not carry headers, so those of refusals wait here until their error is told. */
const refusals = new Map<string, Details>();

/** Which refusal an error is about. Those of a server in trouble come without a code. */
const keyOf = (status: number, code: string) => (status >= 500 ? `${status}` : `${status} ${code}`);

type Body = { code?: unknown; error_code?: unknown } | null;

/** Keeps what the headers of a refusal say; to be called before the client sees the response. */
export async function noteRefusal(response: Response): Promise<void> {
  if (response.ok) return;
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as Body;
  const code = [body?.code, body?.error_code].find((value) => typeof value === "string");
  refusals.set(keyOf(response.status, code ?? ""), detailsOf(response));
}

export function detailsOf({ headers }: Response): Details {
  const seconds = Number(headers.get("retry-after"));
  return {
    retryAfter: Number.isFinite(seconds) && seconds > 0 ? seconds : null,
    requestId: headers.get("x-request-id"),
  };
}

/** Once: the next error with the same code may be about another answer, or about none. */
function takeDetails(status: number, code: string): Details {
  const key = keyOf(status, code);
  const details = refusals.get(key) ?? noDetails;
  refusals.delete(key);
  return details;
}

type Answer = { data: unknown; error: unknown };

/** What an answer carries when it is no error. */
type Data<A> = A extends { data: infer D; error: null } ? NonNullable<D> : never;

/** The data of an answer; an error is thrown as a `Failure`. */
export async function done<A extends Answer>(answer: PromiseLike<A>): Promise<Data<A>> {
  const { data } = await settle(answer);
  return data as Data<A>;
}

/** The same for answers that carry nothing. */
export async function settle<A extends { error: unknown }>(answer: PromiseLike<A>): Promise<A> {
  let result: A;
  try {
    result = await answer;
  } catch (error) {
    throw toFailure(error);
  }
  if (result.error) throw toFailure(result.error);
  return result;
}

/** Whatever was thrown or returned, as a `Failure`. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { name, message, code, status, reasons } = error as {
    name?: string;
    message?: string;
    code?: string;
    status?: number;
    reasons?: string[];
  };
  const text = message ?? String(error);
  const details = status ? takeDetails(status, code ?? "") : noDetails;
  if (name === "AuthRetryableFetchError")
    return new Failure(status ? "server_error" : "offline", text, [], details);
  if (name === "AuthSessionMissingError") return new Failure("session_not_found", text);
  if (name === "TypeError" && /fetch|network/i.test(text)) return new Failure("offline", text);
  return new Failure(code || name || "unknown", text, reasons ?? [], details);
}
