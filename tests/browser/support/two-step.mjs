// People with an authenticator app, and the app.

import assert from "node:assert/strict";

import { totp } from "../../js-clients/support/totp.mjs";
import { field, signIn } from "./account.mjs";

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

/** Somebody with an app, which was set up without the pages; `secret` is the app's. */
export async function memberWithApp(account) {
  const who = await account.member();
  const { access_token: token } = await ask(account, "/token?grant_type=password", who);
  const factor = await ask(account, "/factors", { factor_type: "totp", friendly_name: "Pocket" }, token);
  const { secret } = factor.totp;
  const path = `/factors/${factor.id}`;
  const { id: challenge_id } = await ask(account, `${path}/challenge`, {}, token);
  await ask(account, `${path}/verify`, { challenge_id, code: codeOf(secret) }, token);
  return { ...who, secret };
}

/** The same, signed in on a page with both steps. */
export async function enterWithApp(account, path = "/account") {
  const who = await memberWithApp(account);
  const page = await account.visit(`/sign-in?next=${encodeURIComponent(path)}`);
  await signIn(page, who);
  await field(page, "Code from your authenticator app").fill(codeOf(who.secret));
  await page.getByRole("navigation", { name: "Account" }).waitFor();
  return { who, page };
}

async function ask({ plinth }, path, body, token) {
  const response = await fetch(`${plinth.apiUrl}/auth/v1${path}`, {
    method: "POST",
    headers: {
      apikey: plinth.keys.publishable,
      "content-type": "application/json",
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  assert.ok(response.ok, `${path}: ${JSON.stringify(answer)}`);
  return answer;
}
