//! Settings from GoTrue's environment variables, for the standalone service (auth contract §12).
//!
//! Names and defaults are GoTrue's, with these exceptions: new users have the audience and role
//! `authenticated`, the reuse interval of refresh tokens is ten seconds, and rate limits count by
//! the client's address where no header is named.

mod external;
mod limits;
mod mail;
mod rate;
mod server;
mod sms;
mod variables;

use std::time::Duration;

use url::Url;

use super::{
    AllowList, AuthConfig, HibpConfig, JwtConfig, MfaConfig, PasswordConfig, PhoneFactorConfig,
    RefreshConfig, RefreshTokens, SelfDelete, SessionsConfig, Switches, WebAuthnConfig, otp_length,
    password,
};
pub use server::ServerConfig;
use variables::Variables;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Everything that GoTrue's environment configures.
#[derive(Debug)]
pub struct GotrueConfig {
    /// For the service.
    pub auth: AuthConfig,
    /// For the process.
    pub server: ServerConfig,
    /// Variables that are unknown, not supported, or missing behind a proxy.
    pub warnings: Vec<String>,
}

impl GotrueConfig {
    /// Reads and validates; returns all problems at once.
    pub fn load(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<String>> {
        let mut variables = Variables::new(environment);
        let server = ServerConfig::read(&mut variables);
        let auth = auth(&mut variables);
        let mut warnings = variables.finish()?;
        match (auth, server) {
            (Some(auth), Some(server)) => {
                warnings.extend(server.shared_limit_warning(&auth));
                Ok(Self {
                    auth,
                    server,
                    warnings,
                })
            }
            _ => unreachable!("missing values were recorded as problems"),
        }
    }

    /// From this process's environment.
    pub fn load_from_process() -> Result<Self, Vec<String>> {
        // Variables that are not UTF-8 are ignored.
        Self::load(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }))
    }
}

/// `None` when a required variable is missing, which is recorded as a problem.
fn auth(v: &mut Variables) -> Option<AuthConfig> {
    let site_url: Option<Url> = v.required_url("SITE_URL");
    let external_url = v.required_url_of(&["API_API_EXTERNAL_URL"], Some("API_EXTERNAL_URL"));
    let base = site_url.as_ref().map_or("", Url::as_str).to_owned();
    let config = AuthConfig {
        redirects: AllowList::new(v.list("URI_ALLOW_LIST")),
        max_request_duration: v.duration("API_MAX_REQUEST_DURATION", 10 * SECOND),
        is_signup_enabled: !v.flag("DISABLE_SIGNUP", false),
        jwt: jwt(v),
        sessions: sessions(v),
        refresh: refresh(v),
        password: password(v),
        mail: mail::read(v, &base),
        sms: sms::read(v),
        external: external::read(v),
        mfa: mfa(v),
        webauthn: webauthn(v),
        rates: limits::read(v),
        captcha: limits::captcha(v),
        hooks: external::hooks(v),
        oauth_server: external::oauth_server(v),
        custom_providers: external::custom_providers(v),
        is_manual_linking_enabled: v.flag("SECURITY_MANUAL_LINKING_ENABLED", false),
        is_audit_enabled: !v.flag("AUDIT_LOG_DISABLE_POSTGRES", false),
        is_cursor_paging_enabled: v.flag("EXPERIMENTAL_CURSOR_PAGINATION_ENABLED", false),
        http_timeout: v.duration("INTERNAL_HTTP_TIMEOUT", 10 * SECOND),
        // GoTrue has no such endpoint and no account pages.
        self_delete: SelfDelete::Off,
        account_path: "/".to_owned(),
        is_cleanup_enabled: v.flag("DB_CLEANUP_ENABLED", false),
        external_url: Some(external_url?.to_string()),
        site_url: site_url?,
    };
    Some(config)
}

fn jwt(v: &mut Variables) -> JwtConfig {
    let seconds = v.number("JWT_EXP", 3600);
    JwtConfig {
        lifetime: super::cap_duration(SECOND * if seconds == 0 { 3600 } else { seconds }),
        audience: v.text_or("JWT_AUD", "authenticated"),
        default_role: v.text_or("JWT_DEFAULT_GROUP_NAME", "authenticated"),
        admin_roles: v.list_or("JWT_ADMIN_ROLES", &["service_role", "supabase_admin"]),
        issuer: v.text("JWT_ISSUER"),
    }
}

fn sessions(v: &mut Variables) -> SessionsConfig {
    SessionsConfig {
        timebox: v.positive_duration("SESSIONS_TIMEBOX"),
        inactivity_timeout: v.positive_duration("SESSIONS_INACTIVITY_TIMEOUT"),
        allow_low_aal: v.positive_duration("SESSIONS_ALLOW_LOW_AAL"),
        is_single_per_user: v.flag("SESSIONS_SINGLE_PER_USER", false),
        tags: v.list("SESSIONS_TAGS"),
    }
}

fn refresh(v: &mut Variables) -> RefreshConfig {
    let reuse_interval = v.number("SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", 10);
    RefreshConfig {
        is_rotation_enabled: v.flag("SECURITY_REFRESH_TOKEN_ROTATION_ENABLED", true),
        reuse_interval: super::cap_duration(SECOND * reuse_interval),
        is_reuse_allowed: v.flag("SECURITY_REFRESH_TOKEN_ALLOW_REUSE", false),
        tokens: match v.number_up_to("SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION", 0, 2) {
            2 => RefreshTokens::Counted,
            _ => RefreshTokens::Chained,
        },
        upgrade_percentage: v.number_up_to("SECURITY_REFRESH_TOKEN_UPGRADE_PERCENTAGE", 0, 100),
    }
}

fn password(v: &mut Variables) -> PasswordConfig {
    let required = v.text("PASSWORD_REQUIRED_CHARACTERS").unwrap_or_default();
    let hibp = HibpConfig {
        fails_closed: v.flag("PASSWORD_HIBP_FAIL_CLOSED", false),
        url: "https://api.pwnedpasswords.com".to_owned(),
        user_agent: v.text_or("PASSWORD_HIBP_USER_AGENT", "plinth"),
    };
    PasswordConfig {
        min_length: password::min_length(v.number("PASSWORD_MIN_LENGTH", 6) as usize),
        required_characters: password::character_sets(&required),
        hibp: v.flag("PASSWORD_HIBP_ENABLED", false).then_some(hibp),
        cost: 10,
        change_needs_reauthentication: v
            .flag("SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION", false),
        change_needs_current: v.flag("SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD", false),
        makes_email_identity: v.flag(
            "EXPERIMENTAL_CREATE_EMAIL_IDENTITY_ON_PASSWORD_SET_ENABLED",
            false,
        ),
    }
}

fn mfa(v: &mut Variables) -> MfaConfig {
    let mut switches = |kind: &str, default| Switches {
        is_enrol_enabled: v.flag(&format!("MFA_{kind}_ENROLL_ENABLED"), default),
        is_verify_enabled: v.flag(&format!("MFA_{kind}_VERIFY_ENABLED"), default),
    };
    MfaConfig {
        totp: switches("TOTP", true),
        phone: switches("PHONE", false),
        webauthn: switches("WEB_AUTHN", false),
        max_enrolled: v.number("MFA_MAX_ENROLLED_FACTORS", 10) as usize,
        max_verified: v.number("MFA_MAX_VERIFIED_FACTORS", 10) as usize,
        challenge_lifetime: v
            .seconds("MFA_CHALLENGE_EXPIRY_DURATION", 5 * MINUTE)
            .max(5 * MINUTE),
        factor_lifetime: MfaConfig::factor_lifetime(
            v.duration("MFA_FACTOR_EXPIRY_DURATION", 5 * MINUTE),
        ),
        by_phone: PhoneFactorConfig {
            otp_length: otp_length(v.number("MFA_PHONE_OTP_LENGTH", 6) as usize),
            min_interval: v.duration_or_if_zero("MFA_PHONE_MAX_FREQUENCY", MINUTE),
            template: v.text_or("MFA_PHONE_TEMPLATE", "Your code is {{ .Code }}"),
        },
    }
}

fn webauthn(v: &mut Variables) -> WebAuthnConfig {
    WebAuthnConfig {
        rp_id: v.text("WEBAUTHN_RP_ID"),
        rp_display_name: v.text("WEBAUTHN_RP_DISPLAY_NAME"),
        rp_origins: v.urls("WEBAUTHN_RP_ORIGINS"),
        challenge_lifetime: v.duration("WEBAUTHN_CHALLENGE_EXPIRY_DURATION", 5 * MINUTE),
        are_passkeys_enabled: v.flag("PASSKEY_ENABLED", false),
        max_passkeys_per_user: v.number("PASSKEY_MAX_PASSKEYS_PER_USER", 10) as usize,
    }
}

#[cfg(test)]
mod tests;
