// A Plinth whose accounts are under test: its settings, its mailbox, and people to be.

import { startPlinth } from "./plinth.mjs";

/** Where applications of these tests live, unless a test brings a server of its own. */
export const site = "http://localhost:3000";

/** Limits and hard work are not what these tests are about; one address asks for everything here. */
const usual = {
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
 * A running Plinth, and `mailTo(address)`: the newest mail to somebody.
 *
 * @param {Record<string, unknown>} [settings] By path, as `plinth settings` prints them.
 * @param {Record<string, string>} [files] Further files of the project's folder.
 * @param {Record<string, string>} [env] Further environment of the program.
 */
export async function startAccounts(settings = {}, files = {}, env = {}) {
  const lines = Object.entries({ ...usual, ...settings }).map(
    ([path, value]) => `${path} = ${toml(value)}\n`,
  );
  const plinth = await startPlinth({ files: { "supabase/config.toml": lines.join(""), ...files }, env });
  return { ...plinth, mailTo: (address) => newestMail(plinth, address) };
}

/** Scalars are written alike in both languages. */
function toml(value) {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${name} = ${toml(member)}`);
  return `{ ${members.join(", ")} }`;
}

/** Mails are written before the request that causes them is answered, so nobody has to wait. */
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

let people = 0;

/** Somebody whom nobody else is. */
export function somebody(name = "ann") {
  people += 1;
  return { email: `${name}-${process.pid}-${people}@mail.dev`, password: "correct horse" };
}

/** Opens a link of a mail as a browser would, up to where it leads, and reads what is said there. */
export async function follow(link) {
  const response = await fetch(link, { redirect: "manual" });
  if (response.status !== 303) throw new Error(`${link} answered ${response.status}`);
  const landed = new URL(response.headers.get("location"));
  const fragment = new URLSearchParams(landed.hash.slice(1));
  const tokens = {
    access_token: fragment.get("access_token"),
    refresh_token: fragment.get("refresh_token"),
  };
  return { landed, query: landed.searchParams, fragment, tokens };
}
