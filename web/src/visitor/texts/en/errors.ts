// Error messages (client contract §5.15), keyed by the server's error code and optionally by screen. Their
// placement is in lib/error-text.ts.

/** Values that a message may contain. */
type Params = {
  /** Until the next attempt is allowed. */
  seconds: number;
  provider: string;
  /** The server's message; shown only if it comes from a hook. */
  message: string;
};

const signedOut = "You've been signed out. Please sign in again.";
const turnedOff = "This way of signing in is turned off.";
const methodOff = "This method is turned off.";
const badServer = "The server took too long or had a problem. Please try again.";
const startAgain = "Sign-in didn't finish. Please start again.";
const otherBrowser = "Open the link in the browser where you started, or request a new one.";
const noSso = "No single sign-on is set up for this domain.";
const ssoUnfinished = "Your organisation's sign-in didn't finish. Start again or contact your administrator.";
const tryAgain = "Please try again.";
const exists = "An account with this e-mail already exists. Sign in or reset your password.";
const badEmail = "Enter a valid e-mail address.";
const linkExpired = "This link has expired or was already used.";
const waitToSend = ({ seconds }: Params) => `Please wait ${seconds} s before asking for another message.`;
const noProvider = ({ provider }: Params) => `Signing in with ${provider} isn't available.`;

const codes = {
  offline: "We can't reach the server. Check your connection and try again.",
  server_error: badServer,
  cancelled: "Nothing was changed.",
  key_not_used: "The security key wasn't used. Please try again.",

  invalid_credentials: "E-mail or password is wrong.",
  email_not_confirmed: "Confirm your e-mail first.",
  phone_not_confirmed: "Confirm your phone first.",
  user_already_exists: exists,
  email_exists: "That address can't be used.",
  phone_exists: "That number can't be used.",
  email_address_invalid: badEmail,
  validation_failed: "Something in this form isn't right. Please check it.",
  email_address_not_authorized: "We can't send mail to this address. Contact the operator.",
  weak_password: "Choose a stronger password.",
  same_password: "Choose a password you haven't used here.",
  current_password_required: "Enter your current password.",
  current_password_invalid: "Your current password is wrong.",
  reauthentication_needed: "Confirm it's you with the code we sent.",
  reauthentication_not_valid: "That code is wrong or expired.",
  reauth_nonce_missing: "Enter the code.",
  otp_expired: "Wrong or expired code.",
  otp_disabled: turnedOff,
  signup_disabled: turnedOff,
  email_provider_disabled: turnedOff,
  phone_provider_disabled: turnedOff,
  anonymous_provider_disabled: turnedOff,
  over_email_send_rate_limit: waitToSend,
  over_sms_send_rate_limit: waitToSend,
  over_request_rate_limit: "Too many attempts. Try again in a few minutes.",
  captcha_failed: "The check failed. Please try it again.",
  captcha_expired: "The check ran out of time. Please try it again.",
  user_banned: "This account is suspended. Contact support.",

  user_not_found: signedOut,
  session_not_found: signedOut,
  session_expired: signedOut,
  refresh_token_not_found: signedOut,
  refresh_token_already_used: signedOut,
  bad_jwt: signedOut,
  no_authorization: signedOut,

  user_sso_managed: "Your organisation manages this; change it there.",
  insufficient_aal: "Confirm with your second step to continue.",
  mfa_verification_failed: "That code isn't right. Codes change every 30 seconds.",
  mfa_challenge_expired: "Please enter a new code.",
  mfa_ip_address_mismatch: "Your network changed in between. Please start this step again.",
  mfa_verification_rejected: ({ message }: Params) => message || "This step was refused.",
  mfa_factor_name_conflict: "You already have a method with this name.",
  mfa_factor_not_found: "That method no longer exists.",
  too_many_enrolled_mfa_factors: "Remove a method before adding another.",
  mfa_verified_factor_exists: "This number is already set up.",
  mfa_totp_enroll_not_enabled: methodOff,
  mfa_totp_verify_not_enabled: methodOff,
  mfa_phone_enroll_not_enabled: methodOff,
  mfa_phone_verify_not_enabled: methodOff,
  mfa_webauthn_enroll_not_enabled: methodOff,
  mfa_webauthn_verify_not_enabled: methodOff,
  mfa_recovery_codes_locked: "Too many wrong codes; use another method.",
  mfa_recovery_codes_sole_factor: "Add another method first.",

  identity_already_exists: "That account is already connected to another user.",
  identity_not_found: "That connection no longer exists.",
  single_identity_not_deletable: "Add another way to sign in first.",
  email_conflict_identity_not_deletable:
    "Another user already has the e-mail this change would leave you with.",
  manual_linking_disabled: "Connecting accounts is turned off here.",
  provider_disabled: noProvider,
  oauth_provider_not_supported: noProvider,
  access_denied: "Sign-in was cancelled.",
  bad_oauth_state: startAgain,
  bad_oauth_callback: startAgain,
  oauth_invalid_state: startAgain,
  oauth_client_state_not_found: startAgain,
  oauth_client_state_expired: startAgain,
  provider_email_needs_verification: ({ provider }: Params) =>
    `Check your mail: ${provider} hasn't confirmed this address, so we sent you a link.`,
  flow_state_not_found: otherBrowser,
  flow_state_expired: otherBrowser,
  flow_state_already_used: otherBrowser,
  bad_code_verifier: otherBrowser,
  pkce_code_verifier_not_found: otherBrowser,
  invite_not_found: "This invitation is no longer valid.",
  sso_provider_not_found: noSso,
  sso_provider_disabled: noSso,
  saml_idp_not_found: noSso,
  saml_provider_disabled: noSso,
  saml_relay_state_expired: ssoUnfinished,
  saml_relay_state_not_found: ssoUnfinished,
  saml_assertion_no_email: ssoUnfinished,
  saml_assertion_no_user_id: ssoUnfinished,

  webauthn_credential_not_found: "This passkey isn't registered here.",
  webauthn_challenge_expired: tryAgain,
  webauthn_challenge_not_found: tryAgain,
  webauthn_verification_failed: "The passkey couldn't be verified.",
  webauthn_credential_exists: "This device already has a passkey.",
  passkey_disabled: "Passkeys are turned off.",
  too_many_passkeys: "Remove a passkey first.",

  hook_timeout: badServer,
  hook_timeout_after_retry: badServer,
  request_timeout: badServer,
  unexpected_failure: badServer,
  conflict: badServer,
  sms_send_failed: "We couldn't send the message. Check the number or try later.",
  feature_disabled: "This isn't available here.",
  csrf_rejected: "Please reload the page and try again.",
};

export const errors = {
  codes,
  /** Messages that differ on a screen. */
  screens: {
    "sign-in": { validation_failed: badEmail },
    "sign-up": { validation_failed: badEmail, email_exists: exists },
    email: { validation_failed: badEmail },
    phone: { validation_failed: "Enter a number such as +49 170 1234567." },
    confirm: { otp_expired: linkExpired },
    callback: { otp_expired: linkExpired },
  },
  /** By the `reasons` of `weak_password`. */
  weaknesses: {
    length: "Use more characters.",
    characters: "Add the missing kinds of characters.",
    pwned: "This password appeared in a data leak; choose another.",
  },
  /** For codes that are not in the catalogue; the request id helps to find the log record. */
  unknown: (code: string) => `Something went wrong. Please try again. (${code})`,
  unknownWithRequest: (code: string, request: string) =>
    `Something went wrong. Please try again. (${code}, request ${request})`,
  /** If the provider's name is unknown. */
  thisProvider: "this provider",
};
