// Plinth's own auth endpoints, which the published client has no methods for.

import { Failure } from "../../lib/failure";
import { createHttp, type RequestOptions } from "../../lib/http";
import { auth } from "./auth-client";
import { settings } from "./settings";

const request = createHttp({
  baseUrl: `${settings.projectUrl}/auth/v1`,
  headers: { apikey: settings.key },
});

/** A request with the user's access token; `undefined` for 204 responses. */
export async function authFetch<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const { data } = await auth.getSession();
  if (!data.session) throw new Failure("session_not_found", "no session");
  const headers = {
    authorization: `Bearer ${data.session.access_token}`,
    "x-supabase-api-version": "2024-01-01",
  };
  return request<T>(path, { ...options, headers });
}

/** A request without a session. */
export const publicFetch = <T>(path: string) => request<T>(path);
