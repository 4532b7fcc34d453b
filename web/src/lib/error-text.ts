// What people read when something fails, and where it stands (client contract §5.15).
//
// The words are in the catalogue (texts/<language>/errors.ts), by the server's code and, where it matters,
// by the screen. The server's own words are shown in two cases only: why a password is weak, and what a
// hook of the operator says (U10).

import * as texts from "../texts";
import type { Failure } from "./failure";

export type Screen =
  | "callback"
  | "code"
  | "confirm"
  | "email"
  | "mfa"
  | "password"
  | "phone"
  | "reauthenticate"
  | "sign-in"
  | "sign-up";

/** Where a message stands. `signed-out` leads to the sign-in page. */
export type Place = "field" | "banner" | "page" | "toast" | "signed-out";

export type Message = { place: Place; text: string; field?: string };

type Spot = Omit<Message, "text">;
type Code = keyof typeof texts.errors.codes;
type Words = (typeof texts.errors.codes)[Code];
type Spots = Partial<Record<Code, Spot>>;

const field = (name: string): Spot => ({ place: "field", field: name });
const banner: Spot = { place: "banner" };
const page: Spot = { place: "page" };
const toast: Spot = { place: "toast" };
const signedOut: Spot = { place: "signed-out" };

/** Where a message stands, by its code; everything else is a banner. */
const spots: Spots = {
  email_exists: field("email"),
  phone_exists: field("phone"),
  email_address_invalid: field("email"),
  email_address_not_authorized: field("email"),
  weak_password: field("password"),
  same_password: field("password"),
  current_password_required: field("current"),
  current_password_invalid: field("current"),
  reauthentication_not_valid: field("code"),
  reauth_nonce_missing: field("code"),
  otp_expired: field("code"),
  user_banned: page,

  user_not_found: signedOut,
  session_not_found: signedOut,
  session_expired: signedOut,
  refresh_token_not_found: signedOut,
  refresh_token_already_used: signedOut,
  bad_jwt: signedOut,
  no_authorization: signedOut,

  mfa_verification_failed: field("code"),
  mfa_challenge_expired: field("code"),
  mfa_ip_address_mismatch: field("code"),
  mfa_verification_rejected: field("code"),
  mfa_factor_name_conflict: field("name"),
  mfa_factor_not_found: toast,
  identity_not_found: toast,

  bad_oauth_state: page,
  bad_oauth_callback: page,
  oauth_invalid_state: page,
  oauth_client_state_not_found: page,
  oauth_client_state_expired: page,
  provider_email_needs_verification: page,
  flow_state_not_found: page,
  flow_state_expired: page,
  flow_state_already_used: page,
  bad_code_verifier: page,
  pkce_code_verifier_not_found: page,
  invite_not_found: page,
  saml_relay_state_expired: page,
  saml_relay_state_not_found: page,
  saml_assertion_no_email: page,
  saml_assertion_no_user_id: page,
};

/** Where a screen has another place for it. */
const spotsOn: Partial<Record<Screen, Spots>> = {
  "sign-in": { validation_failed: field("email") },
  "sign-up": { validation_failed: field("email"), email_exists: banner },
  email: { validation_failed: field("email") },
  phone: { validation_failed: field("phone") },
  confirm: { otp_expired: page },
  callback: { otp_expired: page },
};

const words: Record<Code, Words> = texts.errors.codes;
const wordsOn: Partial<Record<Screen, Partial<Record<Code, Words>>>> = texts.errors.screens;

/** Codes that the catalogue knows; a test compares them with the contract. */
export const knownCodes = Object.keys(words);

const isKnown = (code: string): code is Code => Object.hasOwn(words, code);

/** What to say about a failure on a screen, and where. */
export function errorText(failure: Failure, screen?: Screen, provider = texts.errors.thisProvider): Message {
  const { code, message } = failure;
  if (!isKnown(code)) return { ...banner, text: unknownText(failure) };
  const spot = (screen && spotsOn[screen]?.[code]) ?? spots[code] ?? banner;
  if (code === "weak_password") return { ...spot, text: weaknessText(failure) };
  const text = (screen && wordsOn[screen]?.[code]) ?? words[code];
  const facts = { seconds: secondsToWait(failure), provider, message };
  return { ...spot, text: typeof text === "string" ? text : text(facts) };
}

function unknownText({ code, details: { requestId } }: Failure) {
  return requestId ? texts.errors.unknownOfRequest(code, requestId) : texts.errors.unknown(code);
}

/** As the server's reasons say, else in its own words. */
function weaknessText({ reasons, message }: Failure) {
  const weaknesses: Record<string, string> = texts.errors.weaknesses;
  const known = reasons.map((reason) => weaknesses[reason]).filter((text) => text !== undefined);
  return known.join(" ") || message || texts.errors.codes.weak_password;
}

const usualWait = 60;

/** How long another message has to wait (U11): as the header says, else the sentence, else a minute. */
export function secondsToWait({ details, message }: Failure): number {
  const said = /(\d+) seconds?/.exec(message)?.[1];
  return details.retryAfter ?? (said === undefined ? usualWait : Math.max(1, Number(said)));
}

/** Whether the failure is a limit on messages. */
export const isSendLimit = ({ code }: Failure) =>
  code === "over_email_send_rate_limit" || code === "over_sms_send_rate_limit";
