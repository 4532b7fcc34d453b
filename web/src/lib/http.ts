// JSON over HTTP with the caller's access token; every failure is a `Failure`.

import { Failure, readDetails } from "./failure";

export type RequestOptions = {
  method?: string;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Reads the answer; throws if it has another shape. */
  parse?: ((json: unknown) => unknown) | undefined;
};

type HttpOptions = {
  baseUrl: string;
  /** Headers of every request. */
  headers?: Record<string, string>;
  fetch?: typeof fetch;
};

/** Sends a request, and throws a `Failure` unless the answer is 2xx. */
export async function send(url: string, init: RequestInit, call: typeof fetch = fetch): Promise<Response> {
  let response: Response;
  try {
    response = await call(url, init);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Failure("offline", (error as Error).message);
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as {
    code?: unknown;
    error_code?: unknown;
    message?: unknown;
  };
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const code = response.status >= 500 ? "server_error" : (text(body.code) ?? text(body.error_code));
  throw new Failure(code ?? "unknown", text(body.message) ?? "", [], readDetails(response));
}

/** A function that sends JSON and returns the answer; `undefined` for one without content. */
export function createHttp({ baseUrl, headers: shared = {}, fetch: call }: HttpOptions) {
  return async <T>(path: string, options: RequestOptions = {}): Promise<T> => {
    const { method = "GET", body, headers, signal, parse } = options;
    const response = await send(
      baseUrl + path,
      {
        method,
        signal: signal ?? null,
        headers: {
          ...shared,
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
      },
      call,
    );
    const isEmpty = response.status === 204 || response.headers.get("content-length") === "0";
    const json: unknown = isEmpty ? undefined : await response.json();
    return (parse ? parse(json) : json) as T;
  };
}
