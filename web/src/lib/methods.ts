// `GET /settings` of the auth service: which ways of signing in a project has (client contract U1).

import { publicFetch } from "./http";

export type Methods = {
  external: Record<string, boolean>;
  disable_signup: boolean;
  mailer_autoconfirm: boolean;
  phone_autoconfirm: boolean;
  saml_enabled: boolean;
  passkeys_enabled: boolean;
};

let asked: Promise<Methods> | null = null;

/** Asked once per page load; a failure may be tried again. */
export function loadMethods(): Promise<Methods> {
  asked ??= publicFetch<Methods>("/settings").catch((error: unknown) => {
    asked = null;
    throw error;
  });
  return asked;
}

const names: Record<string, string> = {
  azure: "Microsoft",
  fly: "Fly.io",
  github: "GitHub",
  gitlab: "GitLab",
  kakao: "Kakao",
  linkedin: "LinkedIn",
  linkedin_oidc: "LinkedIn",
  slack_oidc: "Slack",
  twitter: "X",
  workos: "WorkOS",
};

/** A provider's name as people know it. */
export const providerName = (id: string) =>
  (Object.hasOwn(names, id) ? names[id] : undefined) ??
  id
    .replace(/^custom:/, "")
    .replace(/(^|[-_])(\w)/g, (_, gap, letter) => (gap ? " " : "") + letter.toUpperCase());

/** A provider that an address names, if the project has it: anybody can write an address. */
export async function knownProvider(id: string | null): Promise<string | null> {
  if (id === null || !/^[a-z0-9_:-]{1,40}$/.test(id)) return null;
  const methods = await loadMethods().catch(() => null);
  return methods && enabledProviders(methods).includes(id) ? id : null;
}

/** Keycloak tells who somebody is only to those who ask for OpenID. */
export const scopesFor = (provider: string) => (provider === "keycloak" ? { scopes: "openid" } : {});

const notProviders = new Set(["anonymous_users", "email", "phone"]);

/** The providers that are switched on, in the order of the answer. */
export const enabledProviders = (methods: Methods) =>
  Object.keys(methods.external).filter((id) => methods.external[id] && !notProviders.has(id));
