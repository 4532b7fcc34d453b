// A session that no server would accept, as a cookie of `@supabase/ssr`.

const encode = (value: unknown) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

export function sampleSession() {
  const expires_at = Math.floor(Date.now() / 1000) + 86_400;
  const user = {
    id: "5f0c7a52-0000-4000-8000-000000000001",
    aud: "authenticated",
    role: "authenticated",
    email: "mira@acme.example",
    app_metadata: { role: "operator" },
    user_metadata: {},
    created_at: "2026-01-01T00:00:00Z",
    factors: [{ id: "f", factor_type: "totp", status: "verified" }],
  };
  const access_token = `${encode({ alg: "none" })}.${encode({ sub: user.id, aal: "aal2", exp: expires_at })}.x`;
  return {
    access_token,
    refresh_token: "sample",
    token_type: "bearer",
    expires_in: 86_400,
    expires_at,
    user,
  };
}

export const sessionCookie = (name: string) => `${name}=base64-${encode(sampleSession())}`;
