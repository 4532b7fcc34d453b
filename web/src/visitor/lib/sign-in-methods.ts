// `GET /settings` of the auth service: the project's sign-in methods (client contract U1).

import { publicFetch } from "./http";

export type SignInMethods = {
  external: Record<string, boolean>;
  disable_signup: boolean;
  mailer_autoconfirm: boolean;
  phone_autoconfirm: boolean;
  saml_enabled: boolean;
  passkeys_enabled: boolean;
};

let request: Promise<SignInMethods> | null = null;

/** Fetched once per page load; a failed request may be retried. */
export function loadSignInMethods(): Promise<SignInMethods> {
  request ??= publicFetch<SignInMethods>("/settings").catch((error: unknown) => {
    request = null;
    throw error;
  });
  return request;
}

const displayNames: Record<string, string> = {
  azure: "Microsoft",
  fly: "Fly.io",
  github: "GitHub",
  gitlab: "GitLab",
  kakao: "Kakao",
  linkedin: "LinkedIn",
  linkedin_oidc: "LinkedIn",
  slack_oidc: "Slack",
  twitter: "X",
  vercel_marketplace: "Vercel",
  workos: "WorkOS",
};

/** A provider's display name. */
export const providerName = (id: string) =>
  (Object.hasOwn(displayNames, id) ? displayNames[id] : undefined) ??
  id
    .replace(/^custom:/, "")
    .replace(/(^|[-_])(\w)/g, (_, gap, letter) => (gap ? " " : "") + letter.toUpperCase());

/** Checks a provider id from the URL, which is untrusted, against the enabled providers. */
export async function findEnabledProvider(id: string | null): Promise<string | null> {
  if (id === null || !/^[a-z0-9_:-]{1,40}$/.test(id)) return null;
  const methods = await loadSignInMethods().catch(() => null);
  return methods && enabledProviders(methods).includes(id) ? id : null;
}

/** Keycloak returns user info only with the `openid` scope. */
export const scopesFor = (provider: string) => (provider === "keycloak" ? { scopes: "openid" } : {});

const notProviders = new Set(["anonymous_users", "email", "phone"]);

/** Enabled OAuth providers, in the order of the response. */
export const enabledProviders = (methods: SignInMethods) =>
  Object.keys(methods.external).filter((id) => methods.external[id] && !notProviders.has(id));
