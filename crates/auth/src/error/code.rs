//! The codes of error bodies (auth contract §10), each with its row of the error reference.

/// Declares the codes, each as `Name = "code", meaning, next step;`. A code without a row in the
/// reference does not compile.
macro_rules! codes {
    ($($name:ident = $code:literal, $meaning:literal, $next_step:literal;)*) => {
        /// A code of the error body. Statuses differ by endpoint, so they stand with the
        /// constructors.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code { $($name),* }

        impl Code {
            /// In the order of the reference.
            pub(super) const ALL: &[Self] = &[$(Self::$name),*];

            /// As it is written in bodies and in `x-sb-error-code`.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// What has happened, in one sentence.
            pub(super) fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),* }
            }

            /// What an app developer can do about it, in one sentence.
            pub(super) fn next_step(self) -> &'static str {
                match self { $(Self::$name => $next_step),* }
            }
        }
    };
}

codes! {
    Unknown = "unknown",
        "The path or method does not exist, the body has the form that OAuth prescribes, or a \
         hook or trigger of the project chose this error and its status, which can be any from \
         400 to 599.",
        "Check method and path, and read the text, which comes from the project's own code where \
         a hook or trigger raised it.";
    UnexpectedFailure = "unexpected_failure",
        "The server, a hook, a trigger or a service that it depends on failed.",
        "Retry a 503 after the seconds in Retry-After, and look up error_id in the server log \
         otherwise.";
    ValidationFailed = "validation_failed",
        "A parameter is missing or malformed, or an id in the path names nothing of the caller's.",
        "Correct the parameter that the text names.";
    BadJson = "bad_json",
        "The request body is not a JSON object with fields of the expected types.",
        "Send a JSON object without NUL characters and with the types that the endpoint documents.";
    RequestEntityTooLarge = "request_entity_too_large",
        "The request body is larger than 1 MiB.",
        "Send less, and keep large data out of user_metadata.";
    RequestTimeout = "request_timeout",
        "The request took longer than the project allows, or waited too long for a database \
         connection or for password hashing.",
        "Retry with backoff, and raise plinth.auth.request_timeout or the pool size if it recurs.";
    OverRequestRateLimit = "over_request_rate_limit",
        "The client has sent too many requests of this kind.",
        "Wait before the next request, and raise auth.rate_limit if legitimate use reaches it.";
    OverEmailSendRateLimit = "over_email_send_rate_limit",
        "The project has sent too many mails in this hour, or this user asked for one too \
         recently.",
        "Wait for the seconds that the text names, or raise auth.rate_limit.email_sent with a mail \
         server of your own.";
    OverSmsSendRateLimit = "over_sms_send_rate_limit",
        "The project has sent too many text messages in this hour, or this user asked for one too \
         recently.",
        "Wait for the seconds that the text names, or raise auth.rate_limit.sms_sent.";
    CaptchaFailed = "captcha_failed",
        "The captcha token is missing, or the captcha provider did not accept it.",
        "Let the user solve the captcha again and send the new token once.";
    NoAuthorization = "no_authorization",
        "The request carries no API key or access token, or one that is not allowed here.",
        "Send the project's API key in apikey and the user's access token as Authorization: Bearer.";
    BadJwt = "bad_jwt",
        "The access token is malformed, expired, signed with another key or lacks a claim.",
        "Refresh the session, and sign in again if that fails.";
    NotAdmin = "not_admin",
        "The access token's role is not one of the project's admin roles.",
        "Call admin endpoints from a server with the secret or service role key.";
    SessionNotFound = "session_not_found",
        "The session of the token has been ended, by a sign-out for example.",
        "Sign in again.";
    SessionExpired = "session_expired",
        "The session reached its maximum age, was idle for too long, lacks a second factor or was \
         replaced by a newer sign-in.",
        "Sign in again.";
    UserNotFound = "user_not_found",
        "No user has this id, address or token.",
        "Check the id or address, and sign in again if it came from an access token.";
    UserBanned = "user_banned",
        "The user is banned until a time that an administrator set.",
        "Lift the ban with ban_duration none at PUT /admin/users/{id}.";
    InvalidCredentials = "invalid_credentials",
        "Address and password, or the client's id and secret, do not match, or the grant type is \
         unknown.",
        "Ask for the credentials again without saying which part was wrong.";
    EmailNotConfirmed = "email_not_confirmed",
        "The user has not confirmed the address yet.",
        "Send the confirmation again with POST /resend.";
    PhoneNotConfirmed = "phone_not_confirmed",
        "The user has not confirmed the phone number yet.",
        "Send the code again with POST /resend.";
    EmailExists = "email_exists",
        "Another user has this address.",
        "Use another address, or sign in as that user.";
    PhoneExists = "phone_exists",
        "Another user has this phone number.",
        "Use another number, or sign in as that user.";
    UserAlreadyExists = "user_already_exists",
        "A user with this address, number or id exists.",
        "Offer to sign in instead.";
    SignupDisabled = "signup_disabled",
        "New users cannot sign up in this project.",
        "Set auth.enable_signup, or create users with the admin API.";
    EmailProviderDisabled = "email_provider_disabled",
        "Signing up or in with an address is switched off.",
        "Set auth.email.enable_signup, or offer another way to sign in.";
    PhoneProviderDisabled = "phone_provider_disabled",
        "Signing up or in with a phone number is switched off.",
        "Set auth.sms.enable_signup and configure an SMS provider.";
    AnonymousProviderDisabled = "anonymous_provider_disabled",
        "Anonymous sign-ins are switched off.",
        "Set auth.enable_anonymous_sign_ins.";
    OtpDisabled = "otp_disabled",
        "No user has this address or number, and the request forbids to create one.",
        "Send create_user true to let new users sign up this way.";
    OtpExpired = "otp_expired",
        "The code or link is wrong, was used, has expired or was replaced by a newer one.",
        "Request a new code or link and use the most recent one.";
    WeakPassword = "weak_password",
        "The password breaks the project's rules or is known from a data breach.",
        "Show the reasons in weak_password.reasons and ask for another password.";
    SamePassword = "same_password",
        "The new password equals the current one.",
        "Ask for a different password.";
    CurrentPasswordRequired = "current_password_required",
        "The project wants the current password when a new one is set.",
        "Send current_password together with password.";
    CurrentPasswordInvalid = "current_password_invalid",
        "The current password is wrong.",
        "Ask for it again, or let the user reset the password.";
    ReauthenticationNeeded = "reauthentication_needed",
        "The session is too old for this change.",
        "Call GET /reauthenticate and send the code that the user receives as nonce.";
    ReauthenticationNotValid = "reauthentication_not_valid",
        "The reauthentication code is wrong or has expired.",
        "Call GET /reauthenticate again and use the new code.";
    UserSsoManaged = "user_sso_managed",
        "The account is managed by single sign-on.",
        "Change address, number or password at the identity provider.";
    EmailAddressNotAuthorized = "email_address_not_authorized",
        "The project sends mail to listed addresses only.",
        "Add the address to plinth.auth.email.authorized_addresses, or empty that list.";
    EmailAddressInvalid = "email_address_invalid",
        "No mail can be delivered to this address.",
        "Ask the user to check the address.";
    SmsSendFailed = "sms_send_failed",
        "The SMS provider did not accept the message.",
        "Read the provider's reason in the text and check number, credentials and balance.";
    RefreshTokenNotFound = "refresh_token_not_found",
        "The refresh token is unknown, often because its session has ended.",
        "Sign in again.";
    RefreshTokenAlreadyUsed = "refresh_token_already_used",
        "The refresh token was used before, so its session has been revoked.",
        "Sign in again, and store only the newest refresh token.";
    Conflict = "conflict",
        "Another request works on the same session, account or name at the same time.",
        "Retry after a moment.";
    BadCodeVerifier = "bad_code_verifier",
        "The PKCE code verifier does not belong to the code challenge that began the flow.",
        "Finish the flow in the browser that began it.";
    FlowStateNotFound = "flow_state_not_found",
        "The authorization code is unknown or was exchanged before.",
        "Begin the sign-in again.";
    FlowStateExpired = "flow_state_expired",
        "The authorization code was not exchanged in time.",
        "Begin the sign-in again.";
    FlowStateAlreadyUsed = "flow_state_already_used",
        "The provider's callback was opened twice.",
        "Begin the sign-in again.";
    BadOauthState = "bad_oauth_state",
        "The state of the provider's callback is malformed, unknown or expired.",
        "Begin the sign-in again.";
    BadOauthCallback = "bad_oauth_callback",
        "The provider's callback lacks the state or the code.",
        "Check the redirect URI that is registered at the provider, and begin again.";
    OauthProviderNotSupported = "oauth_provider_not_supported",
        "The provider was disabled or removed while the user was there.",
        "Enable the provider in auth.external.";
    OauthClientStateNotFound = "oauth_client_state_not_found",
        "The secret that was kept for this sign-in is gone.",
        "Begin the sign-in again.";
    OauthClientStateExpired = "oauth_client_state_expired",
        "The user came back from the provider after more than five minutes.",
        "Begin the sign-in again.";
    OauthInvalidState = "oauth_invalid_state",
        "The callback does not belong to the sign-in that was begun.",
        "Begin the sign-in again.";
    ProviderDisabled = "provider_disabled",
        "The provider of the ID token is not enabled.",
        "Enable the provider in auth.external.";
    ProviderEmailNeedsVerification = "provider_email_needs_verification",
        "The provider does not vouch for the user's address.",
        "Let the user confirm the address by mail or at the provider, then sign in again.";
    InviteNotFound = "invite_not_found",
        "The invitation is unknown, was accepted or has expired.",
        "Invite the user again.";
    UnexpectedAudience = "unexpected_audience",
        "X-JWT-AUD names another audience than the access token.",
        "Send the audience of the token, or leave the header out.";
    IdentityAlreadyExists = "identity_already_exists",
        "The identity is linked to this or another user.",
        "Unlink it there first, or sign in with it.";
    IdentityNotFound = "identity_not_found",
        "The user has no identity of this id.",
        "Use the identity_id of one of the user's identities.";
    SingleIdentityNotDeletable = "single_identity_not_deletable",
        "It is the user's only identity.",
        "Link another identity before this one is unlinked.";
    EmailConflictIdentityNotDeletable = "email_conflict_identity_not_deletable",
        "Without this identity the account would take an address that another account has.",
        "Change the address of one of the accounts first.";
    ManualLinkingDisabled = "manual_linking_disabled",
        "Users of this project cannot link identities themselves.",
        "Set auth.enable_manual_linking.";
    TooManyEnrolledMfaFactors = "too_many_enrolled_mfa_factors",
        "The user has as many factors as the project allows.",
        "Unenroll a factor first.";
    MfaFactorNameConflict = "mfa_factor_name_conflict",
        "The user has another factor of this name.",
        "Choose another friendly_name.";
    MfaFactorNotFound = "mfa_factor_not_found",
        "The user has no such factor, or the factor no such challenge.",
        "List the user's factors and create a new challenge.";
    MfaIpAddressMismatch = "mfa_ip_address_mismatch",
        "The challenge was created from another IP address or has been answered.",
        "Create a new challenge and answer it from the same network.";
    MfaChallengeExpired = "mfa_challenge_expired",
        "The challenge was not answered in time.",
        "Create a new challenge.";
    MfaVerificationFailed = "mfa_verification_failed",
        "The code or the security key's response is wrong.",
        "Ask for the next code, and check the clock of the device that shows it.";
    MfaVerificationRejected = "mfa_verification_rejected",
        "The project's MFA hook rejected the attempt and ended the user's sessions.",
        "Show the text, and let the user sign in again later.";
    MfaVerifiedFactorExists = "mfa_verified_factor_exists",
        "A factor with this phone number exists.",
        "Unenroll that factor first, or use another number.";
    MfaTotpEnrollNotEnabled = "mfa_totp_enroll_not_enabled",
        "Authenticator apps cannot be enrolled in this project.",
        "Set auth.mfa.totp.enroll_enabled.";
    MfaPhoneEnrollNotEnabled = "mfa_phone_enroll_not_enabled",
        "Phones cannot be enrolled as factors in this project.",
        "Set auth.mfa.phone.enroll_enabled.";
    MfaWebauthnEnrollNotEnabled = "mfa_webauthn_enroll_not_enabled",
        "Security keys cannot be enrolled in this project.",
        "Set auth.mfa.web_authn.enroll_enabled.";
    MfaTotpVerifyNotEnabled = "mfa_totp_verify_not_enabled",
        "Authenticator apps cannot be verified in this project.",
        "Set auth.mfa.totp.verify_enabled.";
    MfaPhoneVerifyNotEnabled = "mfa_phone_verify_not_enabled",
        "Phone factors cannot be verified in this project.",
        "Set auth.mfa.phone.verify_enabled.";
    MfaWebauthnVerifyNotEnabled = "mfa_webauthn_verify_not_enabled",
        "Security keys cannot be verified in this project.",
        "Set auth.mfa.web_authn.verify_enabled.";
    InsufficientAal = "insufficient_aal",
        "The user has a second factor and has not proven it in this session.",
        "Challenge and verify one of the user's factors, then retry with the new access token.";
    PasskeyDisabled = "passkey_disabled",
        "Passkeys are switched off.",
        "Set auth.passkey.enabled.";
    TooManyPasskeys = "too_many_passkeys",
        "The user has as many passkeys as the project allows.",
        "Delete a passkey first, or raise plinth.auth.webauthn.max_passkeys.";
    WebauthnChallengeNotFound = "webauthn_challenge_not_found",
        "The challenge is unknown, was used or belongs to another user.",
        "Request new options and use their challenge_id once.";
    WebauthnChallengeExpired = "webauthn_challenge_expired",
        "The challenge was not answered in time.",
        "Request new options.";
    WebauthnVerificationFailed = "webauthn_verification_failed",
        "The authenticator's response is malformed or does not verify.",
        "Request new options, and check that the page's origin is one of auth.webauthn.rp_origins.";
    WebauthnCredentialExists = "webauthn_credential_exists",
        "The authenticator's credential is registered already.",
        "Sign in with it instead of registering it again.";
    SamlProviderDisabled = "saml_provider_disabled",
        "The server does not support SAML.",
        "Use OpenID Connect with a custom provider instead.";
    Web3ProviderDisabled = "web3_provider_disabled",
        "The server does not support sign-in with a wallet.",
        "Offer another way to sign in.";
    FeatureDisabled = "feature_disabled",
        "The feature is switched off in this project or not supported.",
        "Enable what the text names in the project's settings.";
    OauthClientNotFound = "oauth_client_not_found",
        "No OAuth client has this id.",
        "Register the client, or correct client_id.";
    OauthAuthorizationNotFound = "oauth_authorization_not_found",
        "The authorization request is unknown, has expired or belongs to another user.",
        "Let the application begin again at /oauth/authorize.";
    OauthConsentNotFound = "oauth_consent_not_found",
        "The user has not granted this client access, or has revoked it.",
        "List the user's grants with GET /user/oauth/grants.";
    OauthDynamicClientRegistrationDisabled = "oauth_dynamic_client_registration_disabled",
        "Clients cannot register themselves in this project.",
        "Set auth.oauth_server.allow_dynamic_registration, or create the client with the admin API.";
    CustomProviderNotFound = "custom_provider_not_found",
        "No custom provider has this identifier.",
        "List the identifiers with GET /admin/custom-providers.";
    OverCustomProviderQuota = "over_custom_provider_quota",
        "The project has as many custom providers as it may have.",
        "Delete a provider first, or raise plinth.auth.custom_providers.max.";
    HookTimeout = "hook_timeout",
        "An HTTP hook of the project did not respond within five seconds.",
        "Make the hook faster, and move slow work out of it.";
    HookTimeoutAfterRetry = "hook_timeout_after_retry",
        "An HTTP hook of the project could not be reached in any of its attempts.",
        "Check the hook's URI and whether its server accepts connections from Plinth.";
    HookPayloadOverSizeLimit = "hook_payload_over_size_limit",
        "The response of an HTTP hook is larger than 200 KiB.",
        "Return less from the hook.";
    HookPayloadInvalidContentType = "hook_payload_invalid_content_type",
        "The response of an HTTP hook is not application/json.",
        "Set the Content-Type of the hook's response to application/json.";
}
