// One error type for all failed calls: of the auth client, of fetch and of the browser.

type Details = { retryAfter: number | null; requestId: string | null };

const noDetails: Details = { retryAfter: null, requestId: null };

/** `code` is the server's error code, or one of ours such as `offline`. */
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

/** Headers of error responses, which the auth client's errors do not carry. Kept until `toFailure` sees the error. */
const errorDetails = new Map<string, Details>();

/** Matches a response to its error. 5xx errors carry no code. */
const detailsKey = (status: number, code: string) => (status >= 500 ? `${status}` : `${status} ${code}`);

type Body = { code?: unknown; error_code?: unknown } | null;

/** Keeps the headers of an error response; call it before the auth client sees the response. */
export async function recordErrorResponse(response: Response): Promise<void> {
  if (response.ok) return;
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as Body;
  const code = [body?.code, body?.error_code].find((value) => typeof value === "string");
  errorDetails.set(detailsKey(response.status, code ?? ""), readDetails(response));
}

export function readDetails({ headers }: Response): Details {
  const seconds = Number(headers.get("retry-after"));
  return {
    retryAfter: Number.isFinite(seconds) && seconds > 0 ? seconds : null,
    requestId: headers.get("x-request-id"),
  };
}

/** Removes the entry: a later error with the same code may belong to another response, or to none. */
function takeDetails(status: number, code: string): Details {
  const key = detailsKey(status, code);
  const details = errorDetails.get(key) ?? noDetails;
  errorDetails.delete(key);
  return details;
}

type Result = { data: unknown; error: unknown };

/** The data of a successful result. */
type Data<R> = R extends { data: infer D; error: null } ? NonNullable<D> : never;

/** Returns the data of an auth client result, or throws its error as a `Failure`. */
export async function unwrap<R extends Result>(call: PromiseLike<R>): Promise<Data<R>> {
  const { data } = await throwOnError(call);
  return data as Data<R>;
}

/** The same for results without data. */
export async function throwOnError<R extends { error: unknown }>(call: PromiseLike<R>): Promise<R> {
  let result: R;
  try {
    result = await call;
  } catch (error) {
    throw toFailure(error);
  }
  if (result.error) throw toFailure(result.error);
  return result;
}

/** Converts anything thrown or returned as an error. */
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
