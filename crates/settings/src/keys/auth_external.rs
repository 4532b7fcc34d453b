//! `[auth.external.<provider>]`: sign-in through other services.

use super::maps::{Map, Members};
use crate::key::{Key, MemberKey};
use crate::value::{Secret, WrittenUrl};

/// The providers of the official file and the others that the auth service knows. `linkedin` and
/// `slack` are gone; see `aliases`.
pub const PROVIDERS: Map = Map::new("auth.external", Members::Known(NAMES));

const NAMES: &[&str] = &[
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "figma",
    "fly",
    "github",
    "gitlab",
    "google",
    "kakao",
    "keycloak",
    "linkedin_oidc",
    "notion",
    "slack_oidc",
    "snapchat",
    "spotify",
    "twitch",
    "twitter",
    "vercel_marketplace",
    "workos",
    "x",
    "zoom",
];

keys! {
    /// Allow sign-in through this provider.
    pub const ENABLED: MemberKey<bool> = flag("auth.external.*.enabled", false);

    /// OAuth client ID at the provider; several are separated by commas.
    pub const CLIENT_ID: MemberKey<Option<String>> = optional_text("auth.external.*.client_id");

    /// OAuth client secret; use `env(NAME)` to keep it out of the file.
    pub const SECRET: MemberKey<Option<Secret>> = secret("auth.external.*.secret");

    /// Base URL of a self-hosted or single-tenant provider.
    pub const URL: MemberKey<Option<WrittenUrl>> = optional_url("auth.external.*.url");

    /// Base URL of the GitLab server.
    pub const GITLAB_URL: Key<WrittenUrl> = url("auth.external.gitlab.url", "https://gitlab.com");

    /// Callback URL, if it is not that of the auth API.
    pub const REDIRECT_URI: MemberKey<Option<WrittenUrl>> =
        optional_url("auth.external.*.redirect_uri");

    /// Skip the nonce check of ID tokens.
    pub const SKIP_NONCE_CHECK: MemberKey<bool> = flag("auth.external.*.skip_nonce_check", false);

    /// Accept users without an email address.
    pub const EMAIL_OPTIONAL: MemberKey<bool> = flag("auth.external.*.email_optional", false);
}
