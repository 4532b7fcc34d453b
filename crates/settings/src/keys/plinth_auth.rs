//! `[plinth.auth]`: what GoTrue's own configuration has and `[auth]` has not, and what only Plinth
//! has.

use super::COUNT;
use crate::key::{
    Key, choice, duration, flag, integer, list, optional_duration, optional_text, optional_url,
    table, text, url,
};

/// Fewer rounds are no protection, more take minutes.
const HASH_COST: (i64, i64) = (4, 20);
const PERCENTAGE: (i64, i64) = (0, 100);

pub(super) const KEYS: &[Key] = &[
    text(
        "plinth.auth.audience",
        "authenticated",
        "Audience that access tokens are issued for.",
    ),
    text(
        "plinth.auth.default_role",
        "authenticated",
        "Database role of new users.",
    ),
    list(
        "plinth.auth.admin_roles",
        &["service_role", "supabase_admin"],
        "Roles whose tokens may administer users.",
    ),
    duration(
        "plinth.auth.request_timeout",
        "10s",
        "Longest time to answer a request about accounts.",
    ),
    duration(
        "plinth.auth.http_timeout",
        "10s",
        "Longest time for a call to a provider or another service.",
    ),
    flag(
        "plinth.auth.audit_log",
        true,
        "Keep an audit log in auth.audit_log_entries.",
    ),
    flag(
        "plinth.auth.cleanup",
        true,
        "Remove expired sessions, tokens and flows from time to time.",
    ),
    flag(
        "plinth.auth.cursor_pagination",
        false,
        "Let administrators list users by cursor.",
    ),
    optional_duration(
        "plinth.auth.sessions.allow_low_aal",
        "How long users with a second factor may go on without it.",
    ),
    flag(
        "plinth.auth.sessions.single_per_user",
        false,
        "Let users have one session; older ones end at their next refresh.",
    ),
    list(
        "plinth.auth.sessions.tags",
        &[],
        "Tags that count sessions apart; the first one marks new sessions.",
    ),
    flag(
        "plinth.auth.refresh_tokens.allow_reuse",
        false,
        "Accept a refresh token more than once.",
    ),
    choice(
        "plinth.auth.refresh_tokens.kind",
        &["chained", "counted"],
        "chained",
        "Refresh tokens of new sessions: rows of a table, or signed counters.",
    ),
    integer(
        "plinth.auth.refresh_tokens.upgrade_percentage",
        PERCENTAGE,
        0,
        "Share of older sessions that get signed counters at their next refresh.",
    ),
    integer(
        "plinth.auth.password.hash_cost",
        HASH_COST,
        10,
        "Work factor of bcrypt; one more takes twice the time.",
    ),
    flag(
        "plinth.auth.password.creates_email_identity",
        false,
        "Give users of other providers an e-mail identity with their first password.",
    ),
    flag(
        "plinth.auth.password.hibp.enabled",
        false,
        "Refuse passwords that are known to have leaked.",
    ),
    flag(
        "plinth.auth.password.hibp.fail_closed",
        false,
        "Refuse passwords while the service that knows leaked ones is out of reach.",
    ),
    url(
        "plinth.auth.password.hibp.url",
        "https://api.pwnedpasswords.com",
        "Service that knows leaked passwords; it sees five digits of a hash.",
    ),
    text(
        "plinth.auth.password.hibp.user_agent",
        "plinth",
        "How Plinth names itself to that service.",
    ),
    flag(
        "plinth.auth.email.magic_link",
        true,
        "Let people sign in with a link or code sent by mail.",
    ),
    flag(
        "plinth.auth.email.allow_unverified_sign_ins",
        false,
        "Let users sign in before they confirmed their address.",
    ),
    list(
        "plinth.auth.email.authorized_addresses",
        &[],
        "The only addresses that get mail; none allows all.",
    ),
    flag(
        "plinth.auth.email.extended_validation",
        false,
        "Refuse addresses that cannot get mail.",
    ),
    list(
        "plinth.auth.email.blocked_mail_servers",
        &[],
        "Mail servers (MX hosts) whose addresses are refused.",
    ),
    list(
        "plinth.auth.email.external_hosts",
        &[],
        "Hosts that links in mails may name when a request came through them.",
    ),
    table(
        "plinth.auth.email.url_paths",
        "Paths of links by mail: confirmation, recovery, invite, email_change.",
    ),
    table(
        "plinth.auth.email.smtp_headers",
        "Further headers of mails; $messageType in them is the kind of mail.",
    ),
    optional_url(
        "plinth.auth.sms.base_url",
        "Address of the SMS provider's API, when it is not its own.",
    ),
    optional_text(
        "plinth.auth.sms.test_otp_valid_until",
        "Time (RFC 3339) until which fixed codes of test numbers count.",
    ),
    optional_text(
        "plinth.auth.external.ios_bundle_id",
        "Bundle whose ID tokens of Apple are accepted.",
    ),
    optional_url(
        "plinth.auth.external.redirect_url",
        "Where all providers send people back, when it is not this service.",
    ),
    list(
        "plinth.auth.external.id_token_issuers",
        &["https://appleid.apple.com", "https://accounts.google.com"],
        "Issuers whose ID tokens are accepted without a named provider.",
    ),
    duration(
        "plinth.auth.external.flow_lifetime",
        "5m",
        "Time to finish a sign-in that leads through another page; at least 5m.",
    ),
    duration(
        "plinth.auth.external.discovery_lifetime",
        "1h",
        "How long a provider's published configuration is remembered.",
    ),
    table(
        "plinth.auth.external.linking_domains",
        "Group of each provider within which equal addresses mean one user.",
    ),
    list(
        "plinth.auth.external.own_linking_domain",
        &[],
        "Providers whose users are never linked to those of others.",
    ),
    table(
        "plinth.auth.external.api_urls",
        "Address of a provider's profile API, when it is not its own.",
    ),
    flag(
        "plinth.auth.custom_providers.enabled",
        true,
        "Let administrators add providers of their own.",
    ),
    integer(
        "plinth.auth.custom_providers.max",
        COUNT,
        0,
        "Most providers of that kind; 0 for no limit.",
    ),
    optional_url(
        "plinth.auth.custom_providers.external_url",
        "URL of the auth service that those providers send people back to.",
    ),
    flag(
        "plinth.auth.custom_providers.allow_local_urls",
        false,
        "Let those providers be on this machine or its network.",
    ),
    duration(
        "plinth.auth.oauth_server.authorization_lifetime",
        "10m",
        "Time in which a user must answer an application's request.",
    ),
    text(
        "plinth.auth.oauth_server.default_scope",
        "email",
        "Scope of applications that ask for none.",
    ),
    integer(
        "plinth.auth.mfa.max_verified_factors",
        COUNT,
        10,
        "Most confirmed second factors of one user.",
    ),
    duration(
        "plinth.auth.mfa.challenge_lifetime",
        "5m",
        "Time in which a second factor must be shown.",
    ),
    duration(
        "plinth.auth.mfa.factor_lifetime",
        "5m",
        "Time in which a new second factor must be confirmed; at least 5m.",
    ),
    duration(
        "plinth.auth.webauthn.challenge_lifetime",
        "5m",
        "Time in which a passkey must be shown.",
    ),
    integer(
        "plinth.auth.webauthn.max_passkeys",
        COUNT,
        10,
        "Most passkeys of one user.",
    ),
    optional_text(
        "plinth.auth.rate_limit.client_header",
        "Request header that names the client, instead of its address.",
    ),
    integer(
        "plinth.auth.rate_limit.mfa",
        COUNT,
        15,
        "Challenges and checks of second factors per minute and address.",
    ),
    integer(
        "plinth.auth.rate_limit.passkey",
        COUNT,
        30,
        "Sign-ins with a passkey per five minutes and address.",
    ),
    integer(
        "plinth.auth.rate_limit.client_registration",
        COUNT,
        10,
        "Applications that register themselves per five minutes and address.",
    ),
    duration(
        "plinth.auth.captcha.timeout",
        "10s",
        "Longest time to check a CAPTCHA.",
    ),
    optional_url(
        "plinth.auth.captcha.url",
        "Address that checks the CAPTCHA, when it is not the provider's.",
    ),
];
