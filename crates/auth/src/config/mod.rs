//! Settings of the auth service for one project (auth contract §12).
//!
//! In the full server they come from the settings tree, in `plinth serve auth` from the
//! environment names of GoTrue.

mod external;
mod gotrue;
mod hooks;
mod limits;
mod mail;
mod mfa;
mod password;
mod sessions;
mod settings;
mod sms;

use std::time::Duration;

use plinth_project::AllowList;
use url::Url;

pub(crate) use external::{
    CustomProvidersConfig, ExternalConfig, LinkingDomains, OAuthServerConfig, ProviderConfig,
};
pub use gotrue::{GotrueConfig, ServerConfig};
pub(crate) use hooks::{Hook, HookTarget, HooksConfig};
pub(crate) use limits::{
    BURST, CaptchaConfig, CaptchaProvider, ClientLimit, Rate, RateLimits, Refill,
};
pub(crate) use mail::{Brand, MailConfig, SmtpConfig, TemplateSource};
pub(crate) use mfa::{MfaConfig, PhoneFactorConfig, Switches, WebAuthnConfig};
#[cfg(test)]
pub(crate) use password::character_sets;
pub(crate) use password::{HibpConfig, PasswordConfig};
pub(crate) use sessions::{RefreshConfig, RefreshTokens, SessionsConfig};
pub(crate) use sms::{SmsConfig, SmsProvider, TestNumbers};

/// All settings of the service.
#[derive(Debug, Clone)]
pub struct AuthConfig {
    /// Where mails and flows redirect users to. `SITE_URL`
    pub(crate) site_url: Url,
    /// Other allowed redirect targets. `URI_ALLOW_LIST`
    pub(crate) redirects: AllowList,
    /// Where clients reach the service; `None`: below the project's public URL.
    /// `API_EXTERNAL_URL`
    pub(crate) external_url: Option<String>,
    /// Timeout of a request. `API_MAX_REQUEST_DURATION`
    pub(crate) max_request_duration: Duration,
    /// `not DISABLE_SIGNUP`
    pub(crate) is_signup_enabled: bool,
    pub(crate) jwt: JwtConfig,
    pub(crate) sessions: SessionsConfig,
    pub(crate) refresh: RefreshConfig,
    pub(crate) password: PasswordConfig,
    pub(crate) mail: MailConfig,
    pub(crate) sms: SmsConfig,
    pub(crate) external: ExternalConfig,
    pub(crate) mfa: MfaConfig,
    pub(crate) webauthn: WebAuthnConfig,
    pub(crate) rates: RateLimits,
    /// `SECURITY_CAPTCHA_*`; `None` while it is off.
    pub(crate) captcha: Option<CaptchaConfig>,
    pub(crate) hooks: HooksConfig,
    pub(crate) oauth_server: OAuthServerConfig,
    pub(crate) custom_providers: CustomProvidersConfig,
    /// `SECURITY_MANUAL_LINKING_ENABLED`
    pub(crate) is_manual_linking_enabled: bool,
    /// `EXPERIMENTAL_CURSOR_PAGINATION_ENABLED`
    pub(crate) is_cursor_paging_enabled: bool,
    /// `not AUDIT_LOG_DISABLE_POSTGRES`
    pub(crate) is_audit_enabled: bool,
    /// Timeout of a request to another service. `INTERNAL_HTTP_TIMEOUT`
    pub(crate) http_timeout: Duration,
    /// `[plinth.account] self_delete`
    pub(crate) self_delete: SelfDelete,
    /// `[plinth.account] path`: where the account pages are, below the project's public URL.
    pub(crate) account_path: String,
    /// Whether expired rows are deleted. `DB_CLEANUP_ENABLED`
    pub(crate) is_cleanup_enabled: bool,
}

impl AuthConfig {
    /// The site's URL without the slash that the parser appends to a bare host.
    pub(crate) fn site(&self) -> &str {
        let url = self.site_url.as_str();
        match self.site_url.path() {
            "/" => url.strip_suffix('/').unwrap_or(url),
            _ => url,
        }
    }
}

/// Access tokens.
#[derive(Debug, Clone)]
pub(crate) struct JwtConfig {
    /// `JWT_EXP`
    pub(crate) lifetime: Duration,
    /// `JWT_AUD`: who tokens are for.
    pub(crate) audience: String,
    /// `JWT_DEFAULT_GROUP_NAME`: the PostgreSQL role of new users.
    pub(crate) default_role: String,
    /// `JWT_ADMIN_ROLES`
    pub(crate) admin_roles: Vec<String>,
    /// `JWT_ISSUER`; `None`: the service's own URL.
    pub(crate) issuer: Option<String>,
}

/// Whether users can delete their own account, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelfDelete {
    Off,
    /// The row is anonymized.
    Soft,
    /// The row is deleted.
    Hard,
}

/// The maximum of durations, so that sums with the current time stay within the calendar.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Caps a duration.
pub(crate) fn cap_duration(span: Duration) -> Duration {
    span.min(MAX_DURATION)
}

/// The length of a one-time code: six to ten digits, otherwise six.
pub(crate) fn otp_length(requested: usize) -> usize {
    match requested {
        6..=10 => requested,
        _ => 6,
    }
}

/// Splits `a, b`; empty items are dropped.
pub(crate) fn comma_list(text: &str) -> Vec<String> {
    let items = text.split(',').map(str::trim);
    items
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}
