//! Second factors and passkeys.

use uuid::Uuid;

use super::{AuthError, Code, errors, internal_errors};

errors! {
    anonymous_user_not_allowed() => 403 NoAuthorization,
        "Anonymous user not allowed to perform these actions";

    factor_not_found() => 404 MfaFactorNotFound, "Factor not found";
    factor_name_conflict(name: &str) => 422 MfaFactorNameConflict,
        format!("A factor with the friendly name {name:?} for this user already exists");
    too_many_factors() => 422 TooManyEnrolledMfaFactors,
        "Maximum number of verified factors reached, unenroll to continue";
    verified_phone_factor_exists() => 422 MfaVerifiedFactorExists,
        "A verified phone factor already exists, unenroll the existing factor to continue";
    /// At `/admin/users/{id}/factors`.
    phone_factor_exists_for_admin() => 422 MfaVerifiedFactorExists,
        "The user has another factor with this phone number";
    totp_enroll_disabled() => 422 MfaTotpEnrollNotEnabled, "MFA enroll is disabled for TOTP";
    phone_enroll_disabled() => 422 MfaPhoneEnrollNotEnabled, "MFA enroll is disabled for Phone";
    webauthn_enroll_disabled() => 422 MfaWebauthnEnrollNotEnabled,
        "MFA enroll is disabled for WebAuthn";
    totp_verify_disabled() => 422 MfaTotpVerifyNotEnabled,
        "MFA verification is disabled for TOTP";
    phone_verify_disabled() => 422 MfaPhoneVerifyNotEnabled,
        "MFA verification is disabled for Phone";
    webauthn_verify_disabled() => 422 MfaWebauthnVerifyNotEnabled,
        "MFA verification is disabled for WebAuthn";
    aal2_required_to_enroll() => 403 InsufficientAal, "AAL2 required to enroll a new factor";
    aal2_required_to_unenroll() => 422 InsufficientAal,
        "AAL2 required to unenroll verified factor";

    challenge_not_found() => 422 MfaFactorNotFound,
        "MFA factor with the provided challenge ID not found";
    challenge_ip_mismatch() => 422 MfaIpAddressMismatch,
        "Challenge and verify IP addresses mismatch.";
    challenge_expired(id: Uuid) => 422 MfaChallengeExpired, format!(
        "MFA challenge {id} has expired, verify against another challenge or create a new \
         challenge."
    );
    totp_code_invalid() => 422 MfaVerificationFailed, "Invalid TOTP code entered";
    phone_code_invalid() => 422 MfaVerificationFailed, "Invalid MFA Phone code entered";
    security_key_not_verified() => 422 MfaVerificationFailed,
        "The security key could not be verified";
    /// The MFA hook rejected the attempt, with this text.
    mfa_attempt_rejected(text: String) => 403 MfaVerificationRejected, text;

    passkeys_disabled() => 404 PasskeyDisabled, "Passkeys are disabled";
    passkey_not_found() => 404 ValidationFailed, "Passkey not found";
    too_many_passkeys() => 422 TooManyPasskeys, "Maximum number of passkeys reached";
    sso_user_passkey() => 422 ValidationFailed, "SSO users cannot register passkeys";
    aal2_required_for_passkeys() => 403 InsufficientAal,
        "AAL2 session is required to manage passkeys when MFA is enabled";
    passkey_challenge_not_found() => 400 WebauthnChallengeNotFound,
        "Challenge not found or already used";
    passkey_challenge_expired() => 400 WebauthnChallengeExpired, "Challenge has expired";
    passkey_response_invalid() => 400 WebauthnVerificationFailed, "Invalid credential response";
    passkey_not_verified() => 400 WebauthnVerificationFailed, "Credential verification failed";
    passkey_exists() => 422 WebauthnCredentialExists, "This credential is already registered";
}

internal_errors! {
    rendering_qr_code_failed => "Error generating QR Code";
}

impl AuthError {
    /// The access token names no session that a factor could be proven in.
    pub(crate) fn no_session_for_factor() -> Self {
        Self::internal(
            "A valid session and a registered user are required to enroll a factor",
            "the token has no session",
        )
    }
}
