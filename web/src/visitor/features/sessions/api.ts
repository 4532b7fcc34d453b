import { authFetch } from "../../lib/http";

/** One sign-in, as `GET /auth/v1/user/sessions` lists it. */
export type DeviceSession = {
  id: string;
  created_at: string;
  refreshed_at: string | null;
  user_agent: string | null;
  ip: string | null;
  aal: string;
  current: boolean;
};

export const sessionsKey = ["sessions"];

/** Sorted: this device first, then by last use. */
export async function listSessions(signal: AbortSignal): Promise<DeviceSession[]> {
  const sessions = await authFetch<DeviceSession[]>("/user/sessions", { signal });
  const lastUse = ({ refreshed_at, created_at }: DeviceSession) => refreshed_at ?? created_at;
  return sessions.sort(
    (a, b) => Number(b.current) - Number(a.current) || lastUse(b).localeCompare(lastUse(a)),
  );
}

export const endSession = (id: string) => authFetch<undefined>(`/user/sessions/${id}`, { method: "DELETE" });
