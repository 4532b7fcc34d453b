//! Sign-in through other services, and the identities that come of it.

use std::fmt::Display;

use super::{AuthError, Code, errors, internal_errors};

errors! {
    oauth_state_missing() => 400 BadOauthCallback, "OAuth state parameter missing";
    oauth_state_malformed() => 400 BadOauthState, "OAuth state parameter is invalid";
    oauth_state_not_found() => 400 BadOauthState, "OAuth state not found or expired";
    oauth_state_expired() => 400 BadOauthState, "OAuth state has expired";
    oauth_code_missing() => 400 BadOauthCallback,
        "OAuth callback with missing authorization code missing";
    provider_not_supported(reason: impl Display) => 400 OauthProviderNotSupported,
        unsupported(reason);
    /// At `/authorize`.
    authorize_provider_not_supported(reason: impl Display) => 400 ValidationFailed,
        unsupported(reason);
    client_state_not_found() => 422 OauthClientStateNotFound, "OAuth state not found";
    client_state_expired() => 422 OauthClientStateExpired, "OAuth state expired";
    provider_mismatch() => 400 OauthInvalidState, "OAuth provider mismatch";
    provider_code_verifier_missing() => 400 OauthInvalidState, "OAuth PKCE code verifier missing";
    oauth1_token_mismatch() => 400 OauthInvalidState, "OAuth token is another one";
    provider_disabled(issuer: &str) => 400 ProviderDisabled,
        format!("Provider (issuer {issuer:?}) is not enabled");
    oidc_provider_not_allowed(provider: &str) => 400 ValidationFailed,
        format!("Custom OIDC provider {provider:?} not allowed");

    concurrent_sign_in() => 409 Conflict,
        "Another sign-in of the same user is in progress, please try again";
    provider_email_unverified(provider: &str) => 422 ProviderEmailNeedsVerification,
        format!(
            "Unverified email with {provider}. Verify the email with {provider} in order to sign in"
        );
    provider_email_needs_confirmation(provider: &str) => 422 ProviderEmailNeedsVerification,
        confirmation_sent(provider);
    /// After linking, where the identity's address becomes the account's.
    linked_email_not_confirmed(provider: &str) => 422 EmailNotConfirmed,
        confirmation_sent(provider);
    invite_not_found() => 404 InviteNotFound, "Invite not found";
    /// At `/authorize`.
    invited_user_not_found() => 404 UserNotFound, "User identified by token not found";

    manual_linking_disabled() => 404 ManualLinkingDisabled, "Manual linking is disabled";
    linking_target_not_found() => 422 UserNotFound, "Linking target user not found";
    identity_already_linked() => 422 IdentityAlreadyExists, "Identity is already linked";
    identity_linked_to_another_user() => 422 IdentityAlreadyExists,
        "Identity is already linked to another user";
    identity_not_found() => 422 IdentityNotFound, "Identity doesn't exist";
    single_identity_not_deletable() => 422 SingleIdentityNotDeletable,
        "User must have at least 1 identity after unlinking";
    email_conflict_on_unlinking() => 422 EmailConflictIdentityNotDeletable,
        "Unable to unlink identity due to email conflict";

    custom_providers_disabled() => 404 FeatureDisabled, CUSTOM_PROVIDERS_DISABLED;
    /// At `/token?grant_type=id_token`.
    custom_providers_disabled_on_grant() => 400 ValidationFailed, CUSTOM_PROVIDERS_DISABLED;
    custom_provider_disabled(identifier: &str) => 400 ProviderDisabled,
        format!("Custom provider {identifier:?} is disabled");
    custom_provider_not_found() => 404 CustomProviderNotFound, "Custom OAuth provider not found";
    custom_provider_exists() => 400 Conflict,
        "A custom OAuth provider with this identifier already exists";
    over_custom_provider_quota() => 400 OverCustomProviderQuota,
        "Maximum number of custom OAuth/OIDC providers reached";
}

internal_errors! {
    requesting_oauth1_token_failed => "Unable to retrieve request token";
    exchanging_oauth1_token_failed => "Unable to retrieve access token";
    reading_provider_profile_failed => "Error getting user profile from external provider";
    token_issuer_unreachable => "Unable to reach the token's issuer";
}

const CUSTOM_PROVIDERS_DISABLED: &str = "Custom OAuth providers are disabled";

fn unsupported(reason: impl Display) -> String {
    format!("Unsupported provider: {reason}")
}

fn confirmation_sent(provider: &str) -> String {
    format!(
        "Unverified email with {provider}. A confirmation email has been sent to your {provider} \
         email"
    )
}

impl AuthError {
    /// The token endpoint did not accept the code, of which the client sees the first characters.
    pub(crate) fn exchanging_code_failed(code: &str, cause: impl ToString) -> Self {
        let shown: String = code.chars().take(4).collect();
        Self::internal(format!("Unable to exchange external code: {shown}"), cause)
    }

    /// The profile has no address and the project wants one.
    pub(crate) fn provider_email_missing() -> Self {
        Self::internal(
            "Error getting user email from external provider",
            "the profile has no address",
        )
    }

    /// More than one account of the linking domain has the address.
    pub(crate) fn several_accounts_share_address(linking_domain: &str) -> Self {
        let text = format!(
            "Multiple accounts with the same email address in the same linking domain detected: \
             {linking_domain}"
        );
        Self::internal(text, "several accounts share an address")
    }

    /// An insert into `auth.identities` failed.
    pub(crate) fn creating_identity_failed(error: plinth_db::DbError) -> Self {
        Self::database("Error creating identity", error)
    }

    /// The parameters of `grant_type=id_token`, or the token itself, are not acceptable.
    pub(crate) fn id_token_rejected(text: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Self::oauth("invalid request", text)
    }

    /// The ID token carries the hash of another nonce.
    pub(crate) fn nonce_mismatch() -> Self {
        Self::oauth("invalid nonce", "Nonces mismatch")
    }
}
