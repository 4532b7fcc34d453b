//! `[auth.external.<provider>]`: sign-in through other services.

use crate::key::{Key, flag, optional_text, optional_url, secret, url};

/// The providers of the official file and the others that the auth service knows. `linkedin` and
/// `slack` are gone; see `aliases`.
pub(super) const PROVIDERS: &[&str] = &[
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

pub(super) const KEYS: &[Key] = &[
    flag(
        "auth.external.*.enabled",
        false,
        "Let people sign in through this provider.",
    ),
    optional_text(
        "auth.external.*.client_id",
        "Client that is registered at the provider.",
    ),
    secret(
        "auth.external.*.secret",
        "Secret of the client; keep it out of the file.",
    ),
    optional_url(
        "auth.external.*.url",
        "Address of a self-hosted or single-tenant provider.",
    ),
    url(
        "auth.external.gitlab.url",
        "https://gitlab.com",
        "Address of the GitLab server.",
    ),
    optional_url(
        "auth.external.*.redirect_uri",
        "Callback, when it is not the auth service's.",
    ),
    flag(
        "auth.external.*.skip_nonce_check",
        false,
        "Accept ID tokens without checking a nonce.",
    ),
    flag(
        "auth.external.*.email_optional",
        false,
        "Accept users without an e-mail address.",
    ),
];
