//! `[plinth.auth]`: what GoTrue's own configuration has and `[auth]` has not, and what only Plinth
//! has.

use std::collections::BTreeMap;
use std::time::Duration;

use super::COUNT;
use crate::key::Key;
use crate::value::WrittenUrl;

/// Fewer rounds are no protection, more take minutes.
const HASH_COST: (i64, i64) = (4, 20);
const PERCENTAGE: (i64, i64) = (0, 100);

keys! {
    /// Audience (`aud`) of access tokens.
    pub const AUDIENCE: Key<String> = text("plinth.auth.audience", "authenticated");

    /// Database role of new users.
    pub const DEFAULT_ROLE: Key<String> = text("plinth.auth.default_role", "authenticated");

    /// Roles whose tokens may use the admin API.
    pub const ADMIN_ROLES: Key<Vec<String>> =
        list("plinth.auth.admin_roles", &["service_role", "supabase_admin"]);

    /// Timeout of a request to the auth API.
    pub const REQUEST_TIMEOUT: Key<Duration> = duration("plinth.auth.request_timeout", "10s");

    /// Timeout of outgoing HTTP requests to identity providers and other services.
    pub const HTTP_TIMEOUT: Key<Duration> = duration("plinth.auth.http_timeout", "10s");

    /// Write an audit log to `auth.audit_log_entries`.
    pub const AUDIT_LOG: Key<bool> = flag("plinth.auth.audit_log", true);

    /// Periodically delete expired sessions, tokens and flow states.
    pub const CLEANUP: Key<bool> = flag("plinth.auth.cleanup", true);

    /// Enable cursor pagination of the user list in the admin API.
    pub const CURSOR_PAGINATION: Key<bool> = flag("plinth.auth.cursor_pagination", false);

    /// How long users with an MFA factor may keep a session without verifying it (AAL1).
    pub const SESSIONS_ALLOW_LOW_AAL: Key<Option<Duration>> =
        optional_duration("plinth.auth.sessions.allow_low_aal");

    /// Allow one session per user; older sessions end at their next refresh, even if only they have
    /// proven a second factor.
    pub const SESSIONS_SINGLE_PER_USER: Key<bool> =
        flag("plinth.auth.sessions.single_per_user", false);

    /// Tags within which `single_per_user` counts sessions; the first one marks new sessions.
    pub const SESSIONS_TAGS: Key<Vec<String>> = list("plinth.auth.sessions.tags", &[]);

    /// Accept `counted` refresh tokens that were used before, without a time limit.
    pub const REFRESH_TOKENS_ALLOW_REUSE: Key<bool> =
        flag("plinth.auth.refresh_tokens.allow_reuse", false);

    /// Refresh tokens of new sessions: `chained` keeps a row per token, `counted` a signed counter
    /// per session.
    pub const REFRESH_TOKENS_KIND: Key<String> =
        choice("plinth.auth.refresh_tokens.kind", &["chained", "counted"], "chained");

    /// Percentage of older sessions that are upgraded to `counted` refresh tokens at their next
    /// refresh.
    pub const REFRESH_TOKENS_UPGRADE_PERCENTAGE: Key<u8> =
        integer("plinth.auth.refresh_tokens.upgrade_percentage", PERCENTAGE, 0);

    /// Cost of bcrypt; each step doubles the time.
    pub const PASSWORD_HASH_COST: Key<u32> =
        integer("plinth.auth.password.hash_cost", HASH_COST, 10);

    /// Create an email identity when a user of another provider sets a password.
    pub const PASSWORD_CREATES_EMAIL_IDENTITY: Key<bool> =
        flag("plinth.auth.password.creates_email_identity", false);

    /// Reject leaked passwords (Have I Been Pwned).
    pub const PASSWORD_HIBP_ENABLED: Key<bool> = flag("plinth.auth.password.hibp.enabled", false);

    /// Reject passwords while the leaked password service is unreachable.
    pub const PASSWORD_HIBP_FAIL_CLOSED: Key<bool> =
        flag("plinth.auth.password.hibp.fail_closed", false);

    /// URL of the leaked password service; it receives the first five digits of a hash.
    pub const PASSWORD_HIBP_URL: Key<WrittenUrl> =
        url("plinth.auth.password.hibp.url", "https://api.pwnedpasswords.com");

    /// User agent of requests to the leaked password service.
    pub const PASSWORD_HIBP_USER_AGENT: Key<String> =
        text("plinth.auth.password.hibp.user_agent", "plinth");

    /// Allow sign-in with a link or code sent by email.
    pub const EMAIL_MAGIC_LINK: Key<bool> = flag("plinth.auth.email.magic_link", true);

    /// Allow sign-in before the email address is confirmed.
    pub const EMAIL_ALLOW_UNVERIFIED_SIGN_INS: Key<bool> =
        flag("plinth.auth.email.allow_unverified_sign_ins", false);

    /// Addresses that may receive emails; an empty list allows all.
    pub const EMAIL_AUTHORIZED_ADDRESSES: Key<Vec<String>> =
        list("plinth.auth.email.authorized_addresses", &[]);

    /// Reject email addresses that cannot receive mail, by a DNS lookup.
    pub const EMAIL_EXTENDED_VALIDATION: Key<bool> =
        flag("plinth.auth.email.extended_validation", false);

    /// Mail servers (MX hosts) whose addresses are rejected.
    pub const EMAIL_BLOCKED_MAIL_SERVERS: Key<Vec<String>> =
        list("plinth.auth.email.blocked_mail_servers", &[]);

    /// Host names that links in emails may use when the request came through them.
    pub const EMAIL_EXTERNAL_HOSTS: Key<Vec<String>> =
        list("plinth.auth.email.external_hosts", &[]);

    /// URL paths of links in emails, by kind: confirmation, recovery, invite, email_change.
    pub const EMAIL_URL_PATHS: Key<BTreeMap<String, String>> = table("plinth.auth.email.url_paths");

    /// Further headers of emails; `$messageType` is replaced by the kind of email.
    pub const EMAIL_SMTP_HEADERS: Key<BTreeMap<String, String>> =
        table("plinth.auth.email.smtp_headers");

    /// Base URL of the SMS provider's API, instead of its own.
    pub const SMS_BASE_URL: Key<Option<WrittenUrl>> = optional_url("plinth.auth.sms.base_url");

    /// Time (RFC 3339) until which the fixed codes of `auth.sms.test_otp` are valid.
    pub const SMS_TEST_OTP_VALID_UNTIL: Key<Option<String>> =
        optional_text("plinth.auth.sms.test_otp_valid_until");

    /// iOS bundle ID whose Apple ID tokens are accepted.
    pub const EXTERNAL_IOS_BUNDLE_ID: Key<Option<String>> =
        optional_text("plinth.auth.external.ios_bundle_id");

    /// Callback URL of all providers, if it is not that of the auth API.
    pub const EXTERNAL_REDIRECT_URL: Key<Option<WrittenUrl>> =
        optional_url("plinth.auth.external.redirect_url");

    /// Issuers whose ID tokens are accepted without naming a provider.
    pub const EXTERNAL_ID_TOKEN_ISSUERS: Key<Vec<String>> = list(
        "plinth.auth.external.id_token_issuers",
        &["https://appleid.apple.com", "https://accounts.google.com"],
    );

    /// Timeout for completing a sign-in through another page; at least 5m.
    pub const EXTERNAL_FLOW_LIFETIME: Key<Duration> =
        duration("plinth.auth.external.flow_lifetime", "5m");

    /// How long a provider's discovery document is cached.
    pub const EXTERNAL_DISCOVERY_LIFETIME: Key<Duration> =
        duration("plinth.auth.external.discovery_lifetime", "1h");

    /// Linking domain of each provider: identities with the same email address are linked within a
    /// domain.
    pub const EXTERNAL_LINKING_DOMAINS: Key<BTreeMap<String, String>> =
        table("plinth.auth.external.linking_domains");

    /// Providers whose identities are never linked to those of others.
    pub const EXTERNAL_OWN_LINKING_DOMAIN: Key<Vec<String>> =
        list("plinth.auth.external.own_linking_domain", &[]);

    /// URL of a provider's user info API, instead of its own.
    pub const EXTERNAL_API_URLS: Key<BTreeMap<String, String>> =
        table("plinth.auth.external.api_urls");

    /// Let administrators add custom identity providers.
    pub const CUSTOM_PROVIDERS_ENABLED: Key<bool> =
        flag("plinth.auth.custom_providers.enabled", true);

    /// Maximum number of custom providers; 0 for no limit.
    pub const CUSTOM_PROVIDERS_MAX: Key<usize> =
        integer("plinth.auth.custom_providers.max", COUNT, 0);

    /// URL of the auth API in the callback URLs of custom providers.
    pub const CUSTOM_PROVIDERS_EXTERNAL_URL: Key<Option<WrittenUrl>> =
        optional_url("plinth.auth.custom_providers.external_url");

    /// Allow custom providers at local and private addresses.
    pub const CUSTOM_PROVIDERS_ALLOW_LOCAL_URLS: Key<bool> =
        flag("plinth.auth.custom_providers.allow_local_urls", false);

    /// Timeout for a user to approve or deny an authorization request.
    pub const OAUTH_SERVER_AUTHORIZATION_LIFETIME: Key<Duration> =
        duration("plinth.auth.oauth_server.authorization_lifetime", "10m");

    /// Scope of authorization requests that name none.
    pub const OAUTH_SERVER_DEFAULT_SCOPE: Key<String> =
        text("plinth.auth.oauth_server.default_scope", "email");

    /// Maximum number of verified MFA factors per user.
    pub const MFA_MAX_VERIFIED_FACTORS: Key<usize> =
        integer("plinth.auth.mfa.max_verified_factors", COUNT, 10);

    /// Lifetime of an MFA challenge.
    pub const MFA_CHALLENGE_LIFETIME: Key<Duration> =
        duration("plinth.auth.mfa.challenge_lifetime", "5m");

    /// Lifetime of an MFA factor that is not verified yet; at least 5m.
    pub const MFA_FACTOR_LIFETIME: Key<Duration> =
        duration("plinth.auth.mfa.factor_lifetime", "5m");

    /// Lifetime of a passkey or security key challenge.
    pub const WEBAUTHN_CHALLENGE_LIFETIME: Key<Duration> =
        duration("plinth.auth.webauthn.challenge_lifetime", "5m");

    /// Maximum number of passkeys per user.
    pub const WEBAUTHN_MAX_PASSKEYS: Key<usize> =
        integer("plinth.auth.webauthn.max_passkeys", COUNT, 10);

    /// Request header that identifies the client for rate limits, instead of its IP address.
    pub const RATE_LIMIT_CLIENT_HEADER: Key<Option<String>> =
        optional_text("plinth.auth.rate_limit.client_header");

    /// Count the sign-ins, refreshes and verifications of a client by all nodes together, in the
    /// database; otherwise each node counts for itself. Refreshes of a known session that fail are
    /// counted by each node.
    pub const RATE_LIMIT_SHARED: Key<bool> = flag("plinth.auth.rate_limit.shared", false);

    /// MFA challenges and verifications per minute and IP address.
    pub const RATE_LIMIT_MFA: Key<u64> = integer("plinth.auth.rate_limit.mfa", COUNT, 15);

    /// Passkey sign-ins per five minutes and IP address.
    pub const RATE_LIMIT_PASSKEY: Key<u64> = integer("plinth.auth.rate_limit.passkey", COUNT, 30);

    /// Dynamic client registrations per five minutes and IP address.
    pub const RATE_LIMIT_CLIENT_REGISTRATION: Key<u64> =
        integer("plinth.auth.rate_limit.client_registration", COUNT, 10);

    /// Timeout of the request that verifies a CAPTCHA.
    pub const CAPTCHA_TIMEOUT: Key<Duration> = duration("plinth.auth.captcha.timeout", "10s");

    /// URL that verifies the CAPTCHA, instead of the provider's.
    pub const CAPTCHA_URL: Key<Option<WrittenUrl>> = optional_url("plinth.auth.captcha.url");
}
