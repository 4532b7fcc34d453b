import { describe, expect, test } from "vitest";

import { errorText, knownCodes, retryAfterSeconds } from "./error-text";
import { Failure } from "../../lib/failure";

const failure = (code: string, message = "server message", reasons: string[] = []) =>
  new Failure(code, message, reasons);

/** Every code of the client contract §5.15. */
const contract = `invalid_credentials email_not_confirmed phone_not_confirmed user_already_exists email_exists
  phone_exists email_address_invalid validation_failed email_address_not_authorized weak_password same_password
  current_password_required current_password_invalid reauthentication_needed reauthentication_not_valid
  reauth_nonce_missing otp_expired otp_disabled signup_disabled email_provider_disabled phone_provider_disabled
  anonymous_provider_disabled over_email_send_rate_limit over_sms_send_rate_limit over_request_rate_limit
  captcha_failed user_banned user_not_found session_not_found session_expired refresh_token_not_found
  refresh_token_already_used bad_jwt no_authorization user_sso_managed insufficient_aal mfa_verification_failed
  mfa_challenge_expired mfa_ip_address_mismatch mfa_verification_rejected mfa_factor_name_conflict
  mfa_factor_not_found too_many_enrolled_mfa_factors mfa_verified_factor_exists mfa_totp_enroll_not_enabled
  mfa_totp_verify_not_enabled mfa_phone_enroll_not_enabled mfa_phone_verify_not_enabled
  mfa_webauthn_enroll_not_enabled mfa_webauthn_verify_not_enabled mfa_recovery_codes_locked
  mfa_recovery_codes_sole_factor identity_already_exists identity_not_found single_identity_not_deletable
  email_conflict_identity_not_deletable manual_linking_disabled provider_disabled oauth_provider_not_supported
  bad_oauth_state bad_oauth_callback oauth_invalid_state oauth_client_state_not_found oauth_client_state_expired
  provider_email_needs_verification flow_state_not_found flow_state_expired flow_state_already_used
  bad_code_verifier pkce_code_verifier_not_found invite_not_found sso_provider_not_found sso_provider_disabled
  saml_idp_not_found saml_provider_disabled saml_relay_state_expired saml_relay_state_not_found
  saml_assertion_no_email saml_assertion_no_user_id webauthn_credential_not_found webauthn_challenge_expired
  webauthn_challenge_not_found webauthn_verification_failed webauthn_credential_exists passkey_disabled
  too_many_passkeys hook_timeout hook_timeout_after_retry request_timeout unexpected_failure conflict
  sms_send_failed feature_disabled csrf_rejected`
  .trim()
  .split(/\s+/);

describe("the catalogue", () => {
  test("knows every code of the contract", () => {
    expect(contract.filter((code) => !knownCodes.includes(code))).toEqual([]);
  });

  test.each(contract.filter((code) => !["weak_password", "mfa_verification_rejected"].includes(code)))(
    "%s has a text of its own",
    (code) => {
      const { text } = errorText(failure(code));
      expect(text).not.toContain("server message");
      expect(text).not.toMatch(/[{}]/);
    },
  );

  test("has texts that depend on the screen", () => {
    expect(errorText(failure("email_exists"), "sign-up").place).toBe("banner");
    expect(errorText(failure("email_exists"), "email")).toEqual({
      place: "field",
      field: "email",
      text: "That address can't be used.",
    });
    expect(errorText(failure("otp_expired"), "code").text).toBe("Wrong or expired code.");
    expect(errorText(failure("otp_expired"), "confirm").text).toBe(
      "This link has expired or was already used.",
    );
  });
});

test("why a password is weak comes from the server's reasons", () => {
  const text = (reasons: string[]) => errorText(failure("weak_password", "server message", reasons)).text;
  expect(text(["length", "pwned"])).toBe(
    "Use more characters. This password appeared in a data leak; choose another.",
  );
  expect(text([])).toBe("server message");
});

test("a hook's rejection is shown as it is, a provider by its name", () => {
  expect(errorText(failure("mfa_verification_rejected", "Not today"), "mfa").text).toBe("Not today");
  expect(errorText(failure("provider_disabled"), "callback", "GitHub").text).toBe(
    "Signing in with GitHub isn't available.",
  );
});

test("unknown codes are shown with the request id", () => {
  const details = { retryAfter: null, requestId: "r-1" };
  expect(errorText(new Failure("brand_new", "", [], details))).toEqual({
    place: "banner",
    text: "Something went wrong. Please try again. (brand_new, request r-1)",
  });
  expect(errorText(failure("toString")).text).toBe("Something went wrong. Please try again. (toString)");
});

test("the wait comes from the header, the message, or is a minute", () => {
  const limit = (message: string, retryAfter: number | null = null) =>
    retryAfterSeconds(
      new Failure("over_email_send_rate_limit", message, [], { retryAfter, requestId: null }),
    );
  expect(limit("you can only request this after 17 seconds.", 9)).toBe(9);
  expect(limit("you can only request this after 17 seconds.")).toBe(17);
  expect(limit("email rate limit exceeded")).toBe(60);
});
