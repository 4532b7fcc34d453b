// People with an authenticator app, and the app.

import { totp } from "../../js-clients/support/totp.mjs";

const period = 30_000;
/** By secret: the period of the last code. Later ones do not count with an earlier one. */
const last = new Map();

/** A code that counts: up to three at once, since the server takes the neighbours of the present one. */
export function codeOf(secret) {
  // Just before the end of a period its predecessor may be too old on arrival.
  const earliest = Math.floor((Date.now() - period + 5000) / period);
  const step = Math.max(earliest, (last.get(secret) ?? 0) + 1);
  last.set(secret, step);
  return totp(secret, step * period);
}

/** A code that counts for half a minute at least, for those who take their time. There is no third one. */
export function lastingCodeOf(secret) {
  const step = Math.max(Math.floor(Date.now() / period), (last.get(secret) ?? 0) + 1);
  last.set(secret, step);
  return totp(secret, step * period);
}

/** Somebody with an app, which was set up without the pages; `secret` is the app's. */
export async function memberWithApp(account) {
  const who = await account.member();
  const { access_token: token } = await account.ask("/token?grant_type=password", who);
  const factor = await account.ask("/factors", { factor_type: "totp", friendly_name: "Pocket" }, token);
  const { secret } = factor.totp;
  const path = `/factors/${factor.id}`;
  const { id: challenge_id } = await account.ask(`${path}/challenge`, {}, token);
  const session = await account.ask(`${path}/verify`, { challenge_id, code: codeOf(secret) }, token);
  return { ...who, secret, session };
}

/** The same, on a page of the account with both steps behind them. */
export async function enterWithApp(account, path = "/account") {
  const who = await memberWithApp(account);
  const page = await account.resume(who.session, path);
  await page.getByRole("navigation", { name: "Account" }).waitFor();
  return { who, page };
}
