// Error messages and their placement on the page (client contract §5.15).
//
// The texts are in the catalogue (texts/<language>/errors.ts), keyed by the server's error code and
// optionally by screen. The server's own message is shown in two cases only: the reason why a password is
// weak, and the rejection message of an operator's hook (U10).

import { texts } from "../texts";
import type { Failure } from "../../lib/failure";
import type { Message } from "../../lib/failure-handling";

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

type Placement = Omit<Message, "text">;
type Code = keyof typeof texts.errors.codes;
type CodeText = (typeof texts.errors.codes)[Code];
type Placements = Partial<Record<Code, Placement>>;

const field = (name: string): Placement => ({ place: "field", field: name });
const banner: Placement = { place: "banner" };
const page: Placement = { place: "page" };
const toast: Placement = { place: "toast" };
const signedOut: Placement = { place: "signed-out" };

/** Placement by error code; the default is a banner. */
const placements: Placements = {
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

/** Placements that differ on a screen. */
const screenPlacements: Partial<Record<Screen, Placements>> = {
  "sign-in": { validation_failed: field("email") },
  "sign-up": { validation_failed: field("email"), email_exists: banner },
  email: { validation_failed: field("email") },
  phone: { validation_failed: field("phone") },
  confirm: { otp_expired: page },
  callback: { otp_expired: page },
};

const codeTexts: Record<Code, CodeText> = texts.errors.codes;
const screenTexts: Partial<Record<Screen, Partial<Record<Code, CodeText>>>> = texts.errors.screens;

/** Codes in the catalogue; a test compares them with the contract. */
export const knownCodes = Object.keys(codeTexts);

const isKnown = (code: string): code is Code => Object.hasOwn(codeTexts, code);

/** The message for a failure on a screen, and its placement. */
export function errorText(failure: Failure, screen?: Screen, provider = texts.errors.thisProvider): Message {
  const { code, message } = failure;
  if (!isKnown(code)) return { ...banner, text: unknownText(failure) };
  const placement = (screen && screenPlacements[screen]?.[code]) ?? placements[code] ?? banner;
  if (code === "weak_password") return { ...placement, text: weaknessText(failure) };
  const text = (screen && screenTexts[screen]?.[code]) ?? codeTexts[code];
  const params = { seconds: retryAfterSeconds(failure), provider, message };
  return { ...placement, text: typeof text === "string" ? text : text(params) };
}

function unknownText({ code, details: { requestId } }: Failure) {
  return requestId ? texts.errors.unknownWithRequest(code, requestId) : texts.errors.unknown(code);
}

/** From the server's reasons, else its message. */
function weaknessText({ reasons, message }: Failure) {
  const weaknesses: Record<string, string> = texts.errors.weaknesses;
  const known = reasons.map((reason) => weaknesses[reason]).filter((text) => text !== undefined);
  return known.join(" ") || message || texts.errors.codes.weak_password;
}

const defaultRetryAfterSeconds = 60;

/** Seconds until another message may be requested (U11): from `Retry-After`, else from the error message. */
export function retryAfterSeconds({ details, message }: Failure): number {
  const seconds = /(\d+) seconds?/.exec(message)?.[1];
  return (
    details.retryAfter ?? (seconds === undefined ? defaultRetryAfterSeconds : Math.max(1, Number(seconds)))
  );
}

/** Whether the rate limit of e-mails or text messages was hit. */
export const isSendRateLimit = ({ code }: Failure) =>
  code === "over_email_send_rate_limit" || code === "over_sms_send_rate_limit";
