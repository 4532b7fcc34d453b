// Plinth's own auth endpoints, which the published client has no methods for.

import { auth } from "./auth-client";
import { readDetails, Failure } from "./failure";
import { settings } from "./settings";

type Options = { method?: string; body?: unknown; signal?: AbortSignal };

/** A request with the user's access token; `undefined` for 204 responses. */
export async function authFetch<T>(path: string, { method = "GET", body, signal }: Options = {}): Promise<T> {
  const { data } = await auth.getSession();
  if (!data.session) throw new Failure("session_not_found", "no session");
  const response = await send(path, {
    method,
    signal: signal ?? null,
    headers: {
      apikey: settings.key,
      authorization: `Bearer ${data.session.access_token}`,
      "content-type": "application/json",
      "x-supabase-api-version": "2024-01-01",
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** A request without a session. */
export async function publicFetch<T>(path: string): Promise<T> {
  const response = await send(path, { headers: { apikey: settings.key } });
  return (await response.json()) as T;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`${settings.projectUrl}/auth/v1${path}`, init);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Failure("offline", (error as Error).message);
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as {
    code?: string;
    error_code?: string;
    message?: string;
  };
  const code = response.status >= 500 ? "server_error" : (body.code ?? body.error_code ?? "unknown");
  throw new Failure(code, body.message ?? "", [], readDetails(response));
}
