//! Error codes of the auth service (client contract S84).

use std::fmt;

macro_rules! codes {
    ($($variant:ident = $name:literal,)*) => {
        /// An error code. Servers may have codes unknown to this version: those are
        /// [`ErrorCode::Other`].
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
            /// A code unknown to this version.
            Other(String),
        }

        impl ErrorCode {
            /// Every code known to this version.
            pub const KNOWN: &[Self] = &[$(Self::$variant),*];

            /// The code as text.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for ErrorCode {
            fn from(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Other(name.to_owned()),
                }
            }
        }
    };
}

codes! {
    AnonymousProviderDisabled = "anonymous_provider_disabled",
    BadCodeVerifier = "bad_code_verifier",
    BadJson = "bad_json",
    BadJwt = "bad_jwt",
    BadOauthCallback = "bad_oauth_callback",
    BadOauthState = "bad_oauth_state",
    CaptchaFailed = "captcha_failed",
    Conflict = "conflict",
    CurrentPasswordInvalid = "current_password_invalid",
    CurrentPasswordRequired = "current_password_required",
    CustomProviderNotFound = "custom_provider_not_found",
    EmailAddressInvalid = "email_address_invalid",
    EmailAddressNotAuthorized = "email_address_not_authorized",
    EmailAddressNotProvided = "email_address_not_provided",
    EmailConflictIdentityNotDeletable = "email_conflict_identity_not_deletable",
    EmailExists = "email_exists",
    EmailNotConfirmed = "email_not_confirmed",
    EmailProviderDisabled = "email_provider_disabled",
    FeatureDisabled = "feature_disabled",
    FlowStateAlreadyUsed = "flow_state_already_used",
    FlowStateExpired = "flow_state_expired",
    FlowStateNotFound = "flow_state_not_found",
    HookPayloadInvalidContentType = "hook_payload_invalid_content_type",
    HookPayloadOverSizeLimit = "hook_payload_over_size_limit",
    HookTimeout = "hook_timeout",
    HookTimeoutAfterRetry = "hook_timeout_after_retry",
    IdentityAlreadyExists = "identity_already_exists",
    IdentityNotFound = "identity_not_found",
    InsufficientAal = "insufficient_aal",
    InvalidCredentials = "invalid_credentials",
    InvalidJwt = "invalid_jwt",
    InviteNotFound = "invite_not_found",
    ManualLinkingDisabled = "manual_linking_disabled",
    MfaChallengeExpired = "mfa_challenge_expired",
    MfaFactorNameConflict = "mfa_factor_name_conflict",
    MfaFactorNotFound = "mfa_factor_not_found",
    MfaIpAddressMismatch = "mfa_ip_address_mismatch",
    MfaPhoneEnrollNotEnabled = "mfa_phone_enroll_not_enabled",
    MfaPhoneVerifyNotEnabled = "mfa_phone_verify_not_enabled",
    MfaRecoveryCodesEnrollNotEnabled = "mfa_recovery_codes_enroll_not_enabled",
    MfaRecoveryCodesLocked = "mfa_recovery_codes_locked",
    MfaRecoveryCodesSoleFactor = "mfa_recovery_codes_sole_factor",
    MfaRecoveryCodesVerifyNotEnabled = "mfa_recovery_codes_verify_not_enabled",
    MfaTotpEnrollNotEnabled = "mfa_totp_enroll_not_enabled",
    MfaTotpVerifyNotEnabled = "mfa_totp_verify_not_enabled",
    MfaVerificationFailed = "mfa_verification_failed",
    MfaVerificationRejected = "mfa_verification_rejected",
    MfaVerifiedFactorExists = "mfa_verified_factor_exists",
    MfaWebauthnEnrollNotEnabled = "mfa_webauthn_enroll_not_enabled",
    MfaWebauthnVerifyNotEnabled = "mfa_webauthn_verify_not_enabled",
    NoAuthorization = "no_authorization",
    NotAdmin = "not_admin",
    OauthAuthorizationNotFound = "oauth_authorization_not_found",
    OauthClientNotFound = "oauth_client_not_found",
    OauthClientStateExpired = "oauth_client_state_expired",
    OauthClientStateNotFound = "oauth_client_state_not_found",
    OauthConsentNotFound = "oauth_consent_not_found",
    OauthDynamicClientRegistrationDisabled = "oauth_dynamic_client_registration_disabled",
    OauthInvalidState = "oauth_invalid_state",
    OauthProviderNotSupported = "oauth_provider_not_supported",
    OtpDisabled = "otp_disabled",
    OtpExpired = "otp_expired",
    OverCustomProviderQuota = "over_custom_provider_quota",
    OverEmailSendRateLimit = "over_email_send_rate_limit",
    OverRequestRateLimit = "over_request_rate_limit",
    OverSmsSendRateLimit = "over_sms_send_rate_limit",
    PasskeyDisabled = "passkey_disabled",
    PhoneExists = "phone_exists",
    PhoneNotConfirmed = "phone_not_confirmed",
    PhoneProviderDisabled = "phone_provider_disabled",
    PkceCodeVerifierNotFound = "pkce_code_verifier_not_found",
    ProviderDisabled = "provider_disabled",
    ProviderEmailNeedsVerification = "provider_email_needs_verification",
    ReauthNonceMissing = "reauth_nonce_missing",
    ReauthenticationNeeded = "reauthentication_needed",
    ReauthenticationNotValid = "reauthentication_not_valid",
    RefreshTokenAlreadyUsed = "refresh_token_already_used",
    RefreshTokenNotFound = "refresh_token_not_found",
    RequestEntityTooLarge = "request_entity_too_large",
    RequestTimeout = "request_timeout",
    SamePassword = "same_password",
    SamlAssertionNoEmail = "saml_assertion_no_email",
    SamlAssertionNoUserId = "saml_assertion_no_user_id",
    SamlEntityIdMismatch = "saml_entity_id_mismatch",
    SamlIdpAlreadyExists = "saml_idp_already_exists",
    SamlIdpNotFound = "saml_idp_not_found",
    SamlMetadataFetchFailed = "saml_metadata_fetch_failed",
    SamlProviderDisabled = "saml_provider_disabled",
    SamlRelayStateExpired = "saml_relay_state_expired",
    SamlRelayStateNotFound = "saml_relay_state_not_found",
    SessionExpired = "session_expired",
    SessionNotFound = "session_not_found",
    SignupDisabled = "signup_disabled",
    SingleIdentityNotDeletable = "single_identity_not_deletable",
    SmsSendFailed = "sms_send_failed",
    SsoDomainAlreadyExists = "sso_domain_already_exists",
    SsoProviderDisabled = "sso_provider_disabled",
    SsoProviderNotFound = "sso_provider_not_found",
    TooManyEnrolledMfaFactors = "too_many_enrolled_mfa_factors",
    TooManyPasskeys = "too_many_passkeys",
    UnexpectedAudience = "unexpected_audience",
    UnexpectedFailure = "unexpected_failure",
    UserAlreadyExists = "user_already_exists",
    UserBanned = "user_banned",
    UserNotFound = "user_not_found",
    UserSsoManaged = "user_sso_managed",
    ValidationFailed = "validation_failed",
    WeakPassword = "weak_password",
    Web3ProviderDisabled = "web3_provider_disabled",
    Web3UnsupportedChain = "web3_unsupported_chain",
    WebauthnChallengeExpired = "webauthn_challenge_expired",
    WebauthnChallengeNotFound = "webauthn_challenge_not_found",
    WebauthnCredentialExists = "webauthn_credential_exists",
    WebauthnCredentialNotFound = "webauthn_credential_not_found",
    WebauthnVerificationFailed = "webauthn_verification_failed",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Lets codes be compared with the texts used in documentation.
impl PartialEq<str> for ErrorCode {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_as_itself() {
        for code in ErrorCode::KNOWN {
            assert_eq!(ErrorCode::from(code.as_str()), *code);
        }
        assert!(ErrorCode::KNOWN.len() > 100);
    }

    #[test]
    fn unknown_words_are_kept() {
        let code = ErrorCode::from("from_the_future");

        assert_eq!(code, ErrorCode::Other("from_the_future".to_owned()));
        assert_eq!(code, "from_the_future");
        assert_eq!(code.to_string(), "from_the_future");
    }
}
