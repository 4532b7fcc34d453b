// Users with a TOTP factor, and their codes.

import { totp } from "../../js-clients/support/totp.mjs";

const period = 30_000;
/** The period of the last code, by secret. The server rejects earlier or equal ones. */
const lastPeriod = new Map();

/** An unused code: up to three are available at once, because the server accepts adjacent periods. */
export function nextTotpCode(secret) {
  // Near the end of a period, the code of the previous one may expire in flight.
  const earliest = Math.floor((Date.now() - period + 5000) / period);
  const step = Math.max(earliest, (lastPeriod.get(secret) ?? 0) + 1);
  lastPeriod.set(secret, step);
  return totp(secret, step * period);
}

/** An unused code that is valid for at least 30 seconds. */
export function freshTotpCode(secret) {
  const step = Math.max(Math.floor(Date.now() / period), (lastPeriod.get(secret) ?? 0) + 1);
  lastPeriod.set(secret, step);
  return totp(secret, step * period);
}

/** A user with a verified TOTP factor, enrolled through the API. */
export async function createUserWithTotp(account) {
  const user = await account.createUser();
  const { access_token: token } = await account.authRequest("/token?grant_type=password", user);
  const factor = await account.authRequest("/factors", { factor_type: "totp", friendly_name: "Pocket" }, token);
  const { secret } = factor.totp;
  const path = `/factors/${factor.id}`;
  const { id: challenge_id } = await account.authRequest(`${path}/challenge`, {}, token);
  const session = await account.authRequest(`${path}/verify`, { challenge_id, code: nextTotpCode(secret) }, token);
  return { ...user, secret, session };
}

/** The same, on an account page with an `aal2` session. */
export async function openSignedInWithTotp(account, path = "/account") {
  const user = await createUserWithTotp(account);
  const page = await account.openWithSession(user.session, path);
  await page.getByRole("navigation", { name: "Account" }).waitFor();
  return { user, page };
}
