// The catalogue of messages: what people read when something fails (client contract §5.15).
//
// Keyed by the server's code and, where it matters, by the screen. The server's own words are shown
// in two cases only: why a password is weak, and what a hook of the operator says (U10).

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

type Entry = Message & { on?: Partial<Record<Screen, Message>> };

const field = (name: string, text: string): Message => ({ place: "field", field: name, text });
const banner = (text: string): Message => ({ place: "banner", text });
const page = (text: string): Message => ({ place: "page", text });

const signedOut: Message = { place: "signed-out", text: "You've been signed out. Please sign in again." };
const turnedOff = banner("This way of signing in is turned off.");
const methodOff = banner("This method is turned off.");
const badServer = banner("The server took too long or had a problem. Please try again.");
const startAgain = page("Sign-in didn't finish. Please start again.");
const otherBrowser = page("Open the link in the browser where you started, or request a new one.");
const noSso = banner("No single sign-on is set up for this domain.");
const ssoUnfinished = page(
  "Your organisation's sign-in didn't finish. Start again or contact your administrator.",
);
const tryAgain = banner("Please try again.");
const exists = banner("An account with this e-mail already exists. Sign in or reset your password.");
const badEmail = field("email", "Enter a valid e-mail address.");
const noProvider = banner("Signing in with {provider} isn't available.");

const catalogue: Record<string, Entry> = {
  offline: banner("We can't reach the server. Check your connection and try again."),
  server_error: badServer,
  cancelled: banner("Nothing was changed."),

  invalid_credentials: banner("E-mail or password is wrong."),
  email_not_confirmed: banner("Confirm your e-mail first."),
  phone_not_confirmed: banner("Confirm your phone first."),
  user_already_exists: exists,
  email_exists: { ...field("email", "That address can't be used."), on: { "sign-up": exists } },
  phone_exists: field("phone", "That number can't be used."),
  email_address_invalid: badEmail,
  validation_failed: {
    ...banner("Something in this form isn't right. Please check it."),
    on: {
      "sign-in": badEmail,
      "sign-up": badEmail,
      email: badEmail,
      phone: field("phone", "Enter a number such as +49 170 1234567."),
    },
  },
  email_address_not_authorized: field("email", "We can't send mail to this address. Contact the operator."),
  weak_password: field("password", "Choose a stronger password."),
  same_password: field("password", "Choose a password you haven't used here."),
  current_password_required: field("current", "Enter your current password."),
  current_password_invalid: field("current", "Your current password is wrong."),
  reauthentication_needed: banner("Confirm it's you with the code we sent."),
  reauthentication_not_valid: field("code", "That code is wrong or expired."),
  reauth_nonce_missing: field("code", "Enter the code."),
  otp_expired: {
    ...field("code", "Wrong or expired code."),
    on: {
      confirm: page("This link has expired or was already used."),
      callback: page("This link has expired or was already used."),
    },
  },
  otp_disabled: turnedOff,
  signup_disabled: turnedOff,
  email_provider_disabled: turnedOff,
  phone_provider_disabled: turnedOff,
  anonymous_provider_disabled: turnedOff,
  over_email_send_rate_limit: banner("Please wait {n} s before asking for another message."),
  over_sms_send_rate_limit: banner("Please wait {n} s before asking for another message."),
  over_request_rate_limit: banner("Too many attempts. Try again in a few minutes."),
  captcha_failed: field("captcha", "The check failed. Please try it again."),
  user_banned: page("This account is suspended. Contact support."),

  user_not_found: signedOut,
  session_not_found: signedOut,
  session_expired: signedOut,
  refresh_token_not_found: signedOut,
  refresh_token_already_used: signedOut,
  bad_jwt: signedOut,
  no_authorization: signedOut,

  user_sso_managed: banner("Your organisation manages this; change it there."),
  insufficient_aal: banner("Confirm with your second step to continue."),
  mfa_verification_failed: field("code", "That code isn't right. Codes change every 30 seconds."),
  mfa_challenge_expired: field("code", "Please enter a new code."),
  mfa_ip_address_mismatch: field("code", "Your network changed in between. Please start this step again."),
  mfa_verification_rejected: field("code", "{message}"),
  mfa_factor_name_conflict: field("name", "You already have a method with this name."),
  mfa_factor_not_found: { place: "toast", text: "That method no longer exists." },
  too_many_enrolled_mfa_factors: banner("Remove a method before adding another."),
  mfa_verified_factor_exists: banner("This number is already set up."),
  mfa_totp_enroll_not_enabled: methodOff,
  mfa_totp_verify_not_enabled: methodOff,
  mfa_phone_enroll_not_enabled: methodOff,
  mfa_phone_verify_not_enabled: methodOff,
  mfa_webauthn_enroll_not_enabled: methodOff,
  mfa_webauthn_verify_not_enabled: methodOff,
  mfa_recovery_codes_locked: banner("Too many wrong codes; use another method."),
  mfa_recovery_codes_sole_factor: banner("Add another method first."),

  identity_already_exists: banner("That account is already connected to another user."),
  identity_not_found: { place: "toast", text: "That connection no longer exists." },
  single_identity_not_deletable: banner("Add another way to sign in first."),
  email_conflict_identity_not_deletable: banner(
    "Another user already has the e-mail this change would leave you with.",
  ),
  manual_linking_disabled: banner("Connecting accounts is turned off here."),
  provider_disabled: noProvider,
  oauth_provider_not_supported: noProvider,
  access_denied: banner("Sign-in was cancelled."),
  bad_oauth_state: startAgain,
  bad_oauth_callback: startAgain,
  oauth_invalid_state: startAgain,
  oauth_client_state_not_found: startAgain,
  oauth_client_state_expired: startAgain,
  provider_email_needs_verification: page(
    "Check your mail: {provider} hasn't confirmed this address, so we sent you a link.",
  ),
  flow_state_not_found: otherBrowser,
  flow_state_expired: otherBrowser,
  flow_state_already_used: otherBrowser,
  bad_code_verifier: otherBrowser,
  pkce_code_verifier_not_found: otherBrowser,
  invite_not_found: page("This invitation is no longer valid."),
  sso_provider_not_found: noSso,
  sso_provider_disabled: noSso,
  saml_idp_not_found: noSso,
  saml_provider_disabled: noSso,
  saml_relay_state_expired: ssoUnfinished,
  saml_relay_state_not_found: ssoUnfinished,
  saml_assertion_no_email: ssoUnfinished,
  saml_assertion_no_user_id: ssoUnfinished,

  webauthn_credential_not_found: banner("This passkey isn't registered here."),
  webauthn_challenge_expired: tryAgain,
  webauthn_challenge_not_found: tryAgain,
  webauthn_verification_failed: banner("The passkey couldn't be verified."),
  webauthn_credential_exists: banner("This device already has a passkey."),
  passkey_disabled: banner("Passkeys are turned off."),
  too_many_passkeys: banner("Remove a passkey first."),

  hook_timeout: badServer,
  hook_timeout_after_retry: badServer,
  request_timeout: badServer,
  unexpected_failure: badServer,
  conflict: badServer,
  sms_send_failed: banner("We couldn't send the message. Check the number or try later."),
  feature_disabled: banner("This isn't available here."),
  csrf_rejected: banner("Please reload the page and try again."),
};

const weaknesses: Record<string, string> = {
  length: "Use more characters.",
  characters: "Add the missing kinds of characters.",
  pwned: "This password appeared in a data leak; choose another.",
};

/** What to say about a failure on a screen, and where. */
export function errorText(failure: Failure, screen?: Screen, provider = "this provider"): Message {
  const entry = Object.hasOwn(catalogue, failure.code) ? catalogue[failure.code] : undefined;
  if (!entry) return banner(unknownText(failure));
  const message = (screen && entry.on?.[screen]) ?? entry;
  if (failure.code === "weak_password") return { ...message, text: weaknessText(failure) };
  return {
    place: message.place,
    ...(message.field === undefined ? {} : { field: message.field }),
    text: message.text
      .replace("{n}", String(secondsToWait(failure)))
      .replace("{provider}", provider)
      .replace("{message}", failure.message),
  };
}

/** Codes that the catalogue knows; a test compares them with the contract. */
export const knownCodes = Object.keys(catalogue);

function unknownText({ code, details }: Failure) {
  const request = details.requestId ? `, request ${details.requestId}` : "";
  return `Something went wrong. Please try again. (${code}${request})`;
}

function weaknessText(failure: Failure) {
  const texts = failure.reasons.map((reason) => weaknesses[reason]).filter((text) => text !== undefined);
  return texts.length > 0 ? texts.join(" ") : failure.message;
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
