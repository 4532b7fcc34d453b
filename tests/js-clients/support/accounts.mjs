// Starts a Plinth with settings for auth tests, reads its mailbox, and makes credentials of new users.

import { startPlinth } from "./plinth.mjs";

/** The default site URL; nothing listens there. */
export const site = "http://localhost:3000";

/** Cheap password hashes, and rate limits that tests from one IP address do not hit. */
const defaultSettings = {
  "auth.site_url": site,
  "plinth.auth.password.hash_cost": 4,
  "auth.email.max_frequency": "1ms",
  "auth.sms.max_frequency": "1ms",
  "auth.rate_limit.sign_in_sign_ups": 10_000,
  "auth.rate_limit.token_refresh": 10_000,
  "auth.rate_limit.token_verifications": 10_000,
  "auth.rate_limit.anonymous_users": 10_000,
  "plinth.auth.rate_limit.mfa": 10_000,
  "plinth.auth.rate_limit.passkey": 10_000,
};

/**
 * A running Plinth, and `mailTo(address)`, which returns the newest mail to an address.
 *
 * @param {Record<string, unknown>} [settings] By path, as `plinth settings` prints them.
 * @param {Record<string, string>} [files] Additional files of the project folder.
 * @param {Record<string, string>} [env] Additional environment variables.
 */
export async function startAccounts(settings = {}, files = {}, env = {}) {
  const lines = Object.entries({ ...defaultSettings, ...settings }).map(
    ([path, value]) => `${path} = ${toml(value)}\n`,
  );
  const plinth = await startPlinth({ files: { "supabase/config.toml": lines.join(""), ...files }, env });
  return { ...plinth, mailTo: (address) => newestMail(plinth, address) };
}

/** Scalars have the same syntax in JSON and TOML. */
function toml(value) {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${name} = ${toml(member)}`);
  return `{ ${members.join(", ")} }`;
}

/** Mails are stored before the response to their request is sent, so no polling is needed. */
async function newestMail({ apiUrl, ref, keys }, address) {
  const query = new URLSearchParams({ to: address, limit: "1" });
  const response = await fetch(`${apiUrl}/platform/projects/${ref}/mailbox?${query}`, {
    headers: { apikey: keys.secret, authorization: `Bearer ${keys.secret}` },
  });
  const { messages } = await response.json();
  if (!messages?.length) throw new Error(`no mail to ${address} (${response.status})`);
  const [mail] = messages;
  const link = mail.links.find((url) => url.includes("/auth/v1/verify?"));
  return { ...mail, link, tokenHash: link && new URL(link).searchParams.get("token") };
}

let userCount = 0;

/** Credentials with a unique e-mail address. */
export function newUser(name = "ann") {
  userCount += 1;
  return { email: `${name}-${process.pid}-${userCount}@mail.dev`, password: "correct horse" };
}

/** Requests the link of a mail, and parses the URL that it redirects to. */
export async function followMailLink(link) {
  const response = await fetch(link, { redirect: "manual" });
  if (response.status !== 303) throw new Error(`${link} answered ${response.status}`);
  const target = new URL(response.headers.get("location"));
  const fragment = new URLSearchParams(target.hash.slice(1));
  const tokens = {
    access_token: fragment.get("access_token"),
    refresh_token: fragment.get("refresh_token"),
  };
  return { target, query: target.searchParams, fragment, tokens };
}
