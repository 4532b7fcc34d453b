//! `[auth]`: accounts, tokens and limits. E-mail, SMS, MFA, providers and hooks have their own
//! files.

use std::path::PathBuf;
use std::time::Duration;

use super::{AT_LEAST_ONE, COUNT};
use crate::key::Key;
use crate::value::{Secret, WrittenUrl};

keys! {
    /// Serve the auth API.
    pub const ENABLED: Key<bool> = flag("auth.enabled", true);

    /// URL of the website: the default target of redirects and of links in emails.
    pub const SITE_URL: Key<WrittenUrl> = url("auth.site_url", "http://127.0.0.1:3000");

    /// Public URL of the auth API; by default the API's URL with /auth/v1.
    pub const EXTERNAL_URL: Key<Option<WrittenUrl>> = optional_url("auth.external_url");

    /// Further URLs, or globs, that sign-ins may redirect to.
    pub const ADDITIONAL_REDIRECT_URLS: Key<Vec<String>> =
        list("auth.additional_redirect_urls", &["https://127.0.0.1:3000"]);

    /// Lifetime of an access token, in seconds.
    pub const JWT_EXPIRY: Key<u64> = integer("auth.jwt_expiry", AT_LEAST_ONE, 3600);

    /// Issuer (`iss`) of tokens; by default the URL of the auth API.
    pub const JWT_ISSUER: Key<Option<String>> = optional_text("auth.jwt_issuer");

    /// JSON file with the keys (JWKs) that sign tokens.
    pub const SIGNING_KEYS_PATH: Key<Option<PathBuf>> = optional_path("auth.signing_keys_path");

    /// Issue a new refresh token at every refresh and revoke the old one.
    pub const ENABLE_REFRESH_TOKEN_ROTATION: Key<bool> =
        flag("auth.enable_refresh_token_rotation", true);

    /// Grace period in which a rotated refresh token is still accepted, in seconds.
    pub const REFRESH_TOKEN_REUSE_INTERVAL: Key<u64> =
        integer("auth.refresh_token_reuse_interval", COUNT, 10);

    /// Let users link further identities to their account.
    pub const ENABLE_MANUAL_LINKING: Key<bool> = flag("auth.enable_manual_linking", false);

    /// Let new users sign up.
    pub const ENABLE_SIGNUP: Key<bool> = flag("auth.enable_signup", true);

    /// Allow anonymous sign-ins.
    pub const ENABLE_ANONYMOUS_SIGN_INS: Key<bool> = flag("auth.enable_anonymous_sign_ins", false);

    /// Minimum length of passwords; values below 6 count as 6.
    pub const MINIMUM_PASSWORD_LENGTH: Key<usize> =
        integer("auth.minimum_password_length", COUNT, 6);

    /// Character classes that a password must contain.
    pub const PASSWORD_REQUIREMENTS: Key<String> = choice(
        "auth.password_requirements",
        &[
            "", "letters_digits", "lower_upper_letters_digits",
            "lower_upper_letters_digits_symbols",
        ],
        "",
    );

    /// Publishable API key, instead of a generated one.
    pub const PUBLISHABLE_KEY: Key<Option<Secret>> = secret("auth.publishable_key");

    /// Secret API key, instead of a generated one.
    pub const SECRET_KEY: Key<Option<Secret>> = secret("auth.secret_key");

    /// Secret (HS256) that signs tokens, instead of a generated one.
    pub const JWT_SECRET: Key<Option<Secret>> = secret("auth.jwt_secret");

    /// API key of the role `anon`, instead of a generated one.
    pub const ANON_KEY: Key<Option<Secret>> = secret("auth.anon_key");

    /// API key of the role `service_role`, instead of a generated one.
    pub const SERVICE_ROLE_KEY: Key<Option<Secret>> = secret("auth.service_role_key");

    /// Let users sign in with passkeys.
    pub const PASSKEY_ENABLED: Key<bool> = flag("auth.passkey.enabled", false);

    /// Name of the relying party that authenticators show.
    pub const WEBAUTHN_RP_DISPLAY_NAME: Key<Option<String>> =
        optional_text("auth.webauthn.rp_display_name");

    /// Relying party ID: the domain that passkeys are bound to.
    pub const WEBAUTHN_RP_ID: Key<Option<String>> = optional_text("auth.webauthn.rp_id");

    /// Origins that may use passkeys and security keys.
    pub const WEBAUTHN_RP_ORIGINS: Key<Vec<String>> = list("auth.webauthn.rp_origins", &[]);

    /// Emails per hour; without an SMTP server it applies only if it is set.
    pub const RATE_LIMIT_EMAIL_SENT: Key<u64> = integer("auth.rate_limit.email_sent", COUNT, 2);

    /// SMS messages per hour.
    pub const RATE_LIMIT_SMS_SENT: Key<u64> = integer("auth.rate_limit.sms_sent", COUNT, 30);

    /// Anonymous sign-ins per hour and IP address.
    pub const RATE_LIMIT_ANONYMOUS_USERS: Key<u64> =
        integer("auth.rate_limit.anonymous_users", COUNT, 30);

    /// Token refreshes per five minutes and IP address.
    pub const RATE_LIMIT_TOKEN_REFRESH: Key<u64> =
        integer("auth.rate_limit.token_refresh", COUNT, 150);

    /// Sign-ups and sign-ins per five minutes and IP address.
    pub const RATE_LIMIT_SIGN_IN_SIGN_UPS: Key<u64> =
        integer("auth.rate_limit.sign_in_sign_ups", COUNT, 30);

    /// Verifications of one-time codes and links per five minutes and IP address.
    pub const RATE_LIMIT_TOKEN_VERIFICATIONS: Key<u64> =
        integer("auth.rate_limit.token_verifications", COUNT, 30);

    /// Web3 sign-ins per five minutes and IP address.
    pub const RATE_LIMIT_WEB3: Key<u64> = integer("auth.rate_limit.web3", COUNT, 30).inert();

    /// Require a CAPTCHA for sign-ups, sign-ins and password recovery.
    pub const CAPTCHA_ENABLED: Key<bool> = flag("auth.captcha.enabled", false);

    /// Service that verifies the CAPTCHA.
    pub const CAPTCHA_PROVIDER: Key<Option<String>> =
        optional_choice("auth.captcha.provider", &["hcaptcha", "turnstile"]);

    /// Secret key of the CAPTCHA provider.
    pub const CAPTCHA_SECRET: Key<Option<Secret>> = secret("auth.captcha.secret");

    /// Maximum lifetime of a session.
    pub const SESSIONS_TIMEBOX: Key<Option<Duration>> = optional_duration("auth.sessions.timebox");

    /// Idle timeout of a session: it ends if it is not refreshed for this long.
    pub const SESSIONS_INACTIVITY_TIMEOUT: Key<Option<Duration>> =
        optional_duration("auth.sessions.inactivity_timeout");

    /// Allow sign-in with Solana wallets.
    pub const WEB3_SOLANA_ENABLED: Key<bool> = flag("auth.web3.solana.enabled", false).inert();

    /// Allow sign-in with Ethereum wallets.
    pub const WEB3_ETHEREUM_ENABLED: Key<bool> = flag("auth.web3.ethereum.enabled", false).inert();

    /// Act as an OAuth 2.1 authorization server for other applications.
    pub const OAUTH_SERVER_ENABLED: Key<bool> = flag("auth.oauth_server.enabled", false);

    /// Path of the consent page, below `auth.site_url`.
    pub const OAUTH_SERVER_AUTHORIZATION_URL_PATH: Key<String> =
        text("auth.oauth_server.authorization_url_path", "/oauth/consent");

    /// Allow dynamic client registration.
    pub const OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION: Key<bool> =
        flag("auth.oauth_server.allow_dynamic_registration", false);

    /// Accept access tokens of Firebase.
    pub const THIRD_PARTY_FIREBASE_ENABLED: Key<bool> =
        flag("auth.third_party.firebase.enabled", false).inert();

    /// Firebase project ID.
    pub const THIRD_PARTY_FIREBASE_PROJECT_ID: Key<Option<String>> =
        optional_text("auth.third_party.firebase.project_id").inert();

    /// Accept access tokens of Auth0.
    pub const THIRD_PARTY_AUTH0_ENABLED: Key<bool> =
        flag("auth.third_party.auth0.enabled", false).inert();

    /// Auth0 tenant.
    pub const THIRD_PARTY_AUTH0_TENANT: Key<Option<String>> =
        optional_text("auth.third_party.auth0.tenant").inert();

    /// Region of the Auth0 tenant.
    pub const THIRD_PARTY_AUTH0_TENANT_REGION: Key<Option<String>> =
        optional_text("auth.third_party.auth0.tenant_region").inert();

    /// Accept access tokens of AWS Cognito.
    pub const THIRD_PARTY_AWS_COGNITO_ENABLED: Key<bool> =
        flag("auth.third_party.aws_cognito.enabled", false).inert();

    /// AWS Cognito user pool ID.
    pub const THIRD_PARTY_AWS_COGNITO_USER_POOL_ID: Key<Option<String>> =
        optional_text("auth.third_party.aws_cognito.user_pool_id").inert();

    /// Region of the AWS Cognito user pool.
    pub const THIRD_PARTY_AWS_COGNITO_USER_POOL_REGION: Key<Option<String>> =
        optional_text("auth.third_party.aws_cognito.user_pool_region").inert();

    /// Accept access tokens of Clerk.
    pub const THIRD_PARTY_CLERK_ENABLED: Key<bool> =
        flag("auth.third_party.clerk.enabled", false).inert();

    /// Clerk domain.
    pub const THIRD_PARTY_CLERK_DOMAIN: Key<Option<String>> =
        optional_text("auth.third_party.clerk.domain").inert();

    /// Accept access tokens of WorkOS.
    pub const THIRD_PARTY_WORKOS_ENABLED: Key<bool> =
        flag("auth.third_party.workos.enabled", false).inert();

    /// Issuer URL of WorkOS.
    pub const THIRD_PARTY_WORKOS_ISSUER_URL: Key<Option<WrittenUrl>> =
        optional_url("auth.third_party.workos.issuer_url").inert();
}
