// The platform API (`/platform`, `/v1`, `/pg`) with the operator's access token.
//
// Answers are parsed where they come in: a server of another version fails with a name, not somewhere in a
// component. A refused token is refreshed once, because clocks differ and sessions are renewed in other tabs.

import { type Shape, ShapeError, unknown } from "../../lib/shape";

import { Failure } from "../../lib/failure";
import { createHttp, type RequestOptions } from "../../lib/http";
import { settings } from "../settings";
import { auth } from "./auth";

/** The part of the auth client that this needs. */
export type TokenSource = {
  getSession: () => Promise<{ data: { session: { access_token: string } | null } }>;
  refreshSession: () => Promise<{ data: { session: { access_token: string } | null } }>;
};

type CallOptions = Omit<RequestOptions, "parse" | "method" | "body">;

const noSession = () => new Failure("session_not_found", "There is no session.");

/** A client with its own `fetch`, for tests. */
export function createApi(baseUrl: string, tokens: TokenSource, call?: typeof fetch) {
  const request = createHttp({ baseUrl, ...(call && { fetch: call }) });

  async function withToken<T>(send: (token: string) => Promise<T>): Promise<T> {
    const { session } = (await tokens.getSession()).data;
    if (!session) throw noSession();
    try {
      return await send(session.access_token);
    } catch (error) {
      if (!(error instanceof Failure) || !isTokenRefused(error)) throw error;
      const renewed = (await tokens.refreshSession()).data.session;
      if (!renewed) throw noSession();
      return send(renewed.access_token);
    }
  }

  const jsonCall = <T>(method: string, path: string, shape: Shape<T>, body: unknown, options: CallOptions) =>
    withToken((token) =>
      request<T>(path, {
        ...options,
        method,
        ...(body !== undefined && { body }),
        headers: { ...options.headers, authorization: `Bearer ${token}` },
        parse: (json) => parseAnswer(shape, json, path),
      }),
    );

  return {
    get: <T>(path: string, shape: Shape<T>, options: CallOptions = {}) =>
      jsonCall("GET", path, shape, undefined, options),
    post: <T>(path: string, shape: Shape<T>, body?: unknown, options: CallOptions = {}) =>
      jsonCall("POST", path, shape, body, options),
    put: <T>(path: string, shape: Shape<T>, body?: unknown, options: CallOptions = {}) =>
      jsonCall("PUT", path, shape, body, options),
    patch: <T>(path: string, shape: Shape<T>, body?: unknown, options: CallOptions = {}) =>
      jsonCall("PATCH", path, shape, body, options),
    delete: <T>(path: string, shape: Shape<T>, body?: unknown, options: CallOptions = {}) =>
      jsonCall("DELETE", path, shape, body, options),
    /** Without a session: set-up asks before there is one. */
    open: <T>(method: "GET" | "POST", path: string, shape: Shape<T>, body?: unknown, signal?: AbortSignal) =>
      request<T>(path, {
        method,
        signal,
        ...(body !== undefined && { body }),
        parse: (json) => parseAnswer(shape, json, path),
      }),
    /** For streams: a response whose body the caller reads. */
    stream: (path: string, init: { headers?: Record<string, string>; signal: AbortSignal }) =>
      withToken(async (token) => {
        const response = await (call ?? fetch)(baseUrl + path, {
          ...init,
          headers: { ...init.headers, authorization: `Bearer ${token}` },
        });
        if (response.status === 401) throw new Failure("no_authorization", "The access token was refused.");
        if (!response.ok) throw new Failure(`http_${response.status}`, response.statusText);
        return response;
      }),
  };
}

const isTokenRefused = ({ code }: Failure) =>
  ["no_authorization", "unauthorized", "bad_jwt", "session_expired"].includes(code);

function parseAnswer<T>(shape: Shape<T>, json: unknown, path: string): T {
  try {
    return shape(json);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new Failure("unexpected_answer", `${path.split("?", 1)[0]}: ${error.message}`);
  }
}

/** Answers whose content nobody needs. */
export const anything = unknown;

export const api = createApi(settings.apiUrl, auth);

/** A path segment of a name that may contain anything. */
export const segment = encodeURIComponent;
