//! `[auth]`: accounts, tokens and limits. E-mail, SMS, MFA, providers and hooks have their own
//! files.

use super::{AT_LEAST_ONE, COUNT};
use crate::key::{
    Key, choice, flag, integer, list, optional_choice, optional_duration, optional_path,
    optional_text, optional_url, secret, text, url,
};

pub(super) const KEYS: &[Key] = &[
    flag("auth.enabled", true, "Serve accounts and sessions."),
    url(
        "auth.site_url",
        "http://127.0.0.1:3000",
        "Address of the website: where mails lead and redirects end by default.",
    ),
    optional_url(
        "auth.external_url",
        "URL under which clients reach the auth service; by default the API's with /auth/v1.",
    ),
    list(
        "auth.additional_redirect_urls",
        &["https://127.0.0.1:3000"],
        "Further URLs (globs allowed) to which sign-in may redirect.",
    ),
    integer(
        "auth.jwt_expiry",
        AT_LEAST_ONE,
        3600,
        "Lifetime of an access token in seconds.",
    ),
    optional_text(
        "auth.jwt_issuer",
        "Issuer written into tokens; by default the auth URL.",
    ),
    optional_path(
        "auth.signing_keys_path",
        "JSON file with the keys that sign tokens.",
    ),
    flag(
        "auth.enable_refresh_token_rotation",
        true,
        "Replace a refresh token whenever it is used.",
    ),
    integer(
        "auth.refresh_token_reuse_interval",
        COUNT,
        10,
        "Seconds during which a replaced refresh token may be shown again.",
    ),
    flag(
        "auth.enable_manual_linking",
        false,
        "Let users link further identities themselves.",
    ),
    flag("auth.enable_signup", true, "Let new users sign up."),
    flag(
        "auth.enable_anonymous_sign_ins",
        false,
        "Let people sign in without an identity.",
    ),
    integer(
        "auth.minimum_password_length",
        COUNT,
        6,
        "Fewest characters of a password.",
    ),
    choice(
        "auth.password_requirements",
        &[
            "",
            "letters_digits",
            "lower_upper_letters_digits",
            "lower_upper_letters_digits_symbols",
        ],
        "",
        "Kinds of characters that a password must contain.",
    ),
    secret(
        "auth.publishable_key",
        "Publishable API key to use instead of a generated one.",
    ),
    secret(
        "auth.secret_key",
        "Secret API key to use instead of a generated one.",
    ),
    secret(
        "auth.jwt_secret",
        "Secret that signs tokens, instead of a generated one.",
    ),
    secret(
        "auth.anon_key",
        "Key of the role `anon`, instead of a generated one.",
    ),
    secret(
        "auth.service_role_key",
        "Key of the role `service_role`, instead of a generated one.",
    ),
    flag(
        "auth.passkey.enabled",
        false,
        "Let users sign in with passkeys.",
    ),
    optional_text(
        "auth.webauthn.rp_display_name",
        "Name of the site that passkeys show.",
    ),
    optional_text("auth.webauthn.rp_id", "Domain that passkeys belong to."),
    list(
        "auth.webauthn.rp_origins",
        &[],
        "Origins that may use the passkeys.",
    ),
    integer(
        "auth.rate_limit.email_sent",
        COUNT,
        2,
        "Mails per hour; without an SMTP server only when it is set.",
    ),
    integer("auth.rate_limit.sms_sent", COUNT, 30, "SMS per hour."),
    integer(
        "auth.rate_limit.anonymous_users",
        COUNT,
        30,
        "Anonymous sign-ins per hour and address.",
    ),
    integer(
        "auth.rate_limit.token_refresh",
        COUNT,
        150,
        "Session refreshes per five minutes and address.",
    ),
    integer(
        "auth.rate_limit.sign_in_sign_ups",
        COUNT,
        30,
        "Sign-ups and sign-ins per five minutes and address.",
    ),
    integer(
        "auth.rate_limit.token_verifications",
        COUNT,
        30,
        "Checks of one-time codes and links per five minutes and address.",
    ),
    integer(
        "auth.rate_limit.web3",
        COUNT,
        30,
        "Web3 sign-ins per five minutes and address.",
    ),
    flag("auth.captcha.enabled", false, "Ask for a CAPTCHA."),
    optional_choice(
        "auth.captcha.provider",
        &["hcaptcha", "turnstile"],
        "Who checks the CAPTCHA.",
    ),
    secret("auth.captcha.secret", "Secret of the CAPTCHA provider."),
    optional_duration("auth.sessions.timebox", "Age at which a session ends."),
    optional_duration(
        "auth.sessions.inactivity_timeout",
        "Idle time after which a session ends.",
    ),
    flag(
        "auth.web3.solana.enabled",
        false,
        "Sign in with Solana wallets.",
    ),
    flag(
        "auth.web3.ethereum.enabled",
        false,
        "Sign in with Ethereum wallets.",
    ),
    flag(
        "auth.oauth_server.enabled",
        false,
        "Act as an OAuth server for other applications.",
    ),
    text(
        "auth.oauth_server.authorization_url_path",
        "/oauth/consent",
        "Path of the page that asks for consent.",
    ),
    flag(
        "auth.oauth_server.allow_dynamic_registration",
        false,
        "Let applications register themselves.",
    ),
    flag(
        "auth.third_party.firebase.enabled",
        false,
        "Accept tokens of Firebase.",
    ),
    optional_text(
        "auth.third_party.firebase.project_id",
        "Project at Firebase.",
    ),
    flag(
        "auth.third_party.auth0.enabled",
        false,
        "Accept tokens of Auth0.",
    ),
    optional_text("auth.third_party.auth0.tenant", "Tenant at Auth0."),
    optional_text(
        "auth.third_party.auth0.tenant_region",
        "Region of the tenant at Auth0.",
    ),
    flag(
        "auth.third_party.aws_cognito.enabled",
        false,
        "Accept tokens of AWS Cognito.",
    ),
    optional_text(
        "auth.third_party.aws_cognito.user_pool_id",
        "User pool at AWS Cognito.",
    ),
    optional_text(
        "auth.third_party.aws_cognito.user_pool_region",
        "Region of the user pool.",
    ),
    flag(
        "auth.third_party.clerk.enabled",
        false,
        "Accept tokens of Clerk.",
    ),
    optional_text("auth.third_party.clerk.domain", "Domain at Clerk."),
    flag(
        "auth.third_party.workos.enabled",
        false,
        "Accept tokens of WorkOS.",
    ),
    optional_url("auth.third_party.workos.issuer_url", "Issuer at WorkOS."),
];
