//! The types of the table of built-in providers.

use serde_json::Value;

use super::{azure, profile::Email};

/// A built-in provider, without a project's settings.
pub(in crate::oauth) struct Spec {
    pub(in crate::oauth) name: &'static str,
    pub(in crate::oauth) endpoints: Endpoints,
    pub(in crate::oauth) client_auth: ClientAuth,
    /// Always requested.
    pub(in crate::oauth) scopes: &'static [&'static str],
    /// Whether the caller may request more with `scopes`.
    pub(in crate::oauth) takes_scopes: bool,
    /// Whether the provider supports PKCE.
    pub(in crate::oauth) uses_pkce: bool,
    /// Where the redirect flow reads the profile.
    pub(in crate::oauth) profile_source: ProfileSource,
    /// How ID tokens are read, in the redirect flow and from clients.
    pub(in crate::oauth) id_token: Option<IdTokenSpec>,
    pub(in crate::oauth) quirk: Quirk,
}

/// The authorization and token endpoints. `EXTERNAL_<NAME>_URL` replaces every base.
pub(in crate::oauth) enum Endpoints {
    Fixed {
        authorize: Endpoint,
        token: Endpoint,
    },
    /// Paths below the configured URL.
    BelowUrl {
        authorize: &'static str,
        token: &'static str,
    },
    /// From the discovery document of this issuer.
    Discovered(&'static str),
}

/// A base URL and a path.
pub(in crate::oauth) struct Endpoint {
    pub(in crate::oauth) base: &'static str,
    pub(in crate::oauth) path: &'static str,
}

/// How the client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::oauth) enum ClientAuth {
    Header,
    Body,
    /// The header first, the body if that is rejected.
    Either,
}

/// Where the redirect flow reads the profile.
pub(in crate::oauth) enum ProfileSource {
    /// The ID token only.
    IdToken,
    /// The ID token if there is one.
    IdTokenOrApi(Api),
    Api(Api),
    /// A member of the token endpoint's response.
    TokenResponse {
        at: &'static str,
        base: &'static str,
        mapping: Mapping,
    },
}

/// The profile API.
pub(in crate::oauth) struct Api {
    pub(in crate::oauth) base: &'static str,
    /// Appended to the configured URL of a self-hosted server.
    pub(in crate::oauth) self_hosted_path: &'static str,
    pub(in crate::oauth) path: &'static str,
    /// A second call; its response is inserted as `emails` into the first.
    pub(in crate::oauth) emails_path: Option<&'static str>,
    pub(in crate::oauth) extra: Extra,
    pub(in crate::oauth) mapping: Mapping,
}

/// What the profile API needs beside the access token.
pub(in crate::oauth) enum Extra {
    Nothing,
    Header(&'static str, &'static str),
    /// A header with the client id.
    ClientId(&'static str),
    /// `appsecret_proof`: the access token signed with the client secret.
    SecretProof,
}

/// Issuers and claims of a provider's ID tokens.
pub(in crate::oauth) struct IdTokenSpec {
    pub(in crate::oauth) issuers: Issuers,
    pub(in crate::oauth) skips_nonce: bool,
    /// `None` if the claims have standard names.
    pub(in crate::oauth) mapping: Option<Mapping>,
}

/// Accepted issuers.
pub(in crate::oauth) enum Issuers {
    /// One of these; the configured `url` replaces them.
    OneOf(&'static [&'static str]),
    /// A tenant of Microsoft; a configured tenant is the only one accepted.
    Azure,
    /// The configured `url`.
    Url,
}

impl Issuers {
    /// Whether this is the provider's issuer, whatever is configured.
    pub(in crate::oauth) fn includes(&self, issuer: &str) -> bool {
        match self {
            Self::OneOf(issuers) => issuers.contains(&issuer),
            Self::Azure => azure::is_issuer(issuer),
            Self::Url => false,
        }
    }
}

/// How a provider's JSON becomes claims. Strings are JSON pointers unless said otherwise.
pub(in crate::oauth) struct Mapping {
    pub(in crate::oauth) issuer: Issuer,
    pub(in crate::oauth) subject: TextSource,
    /// The claims to set, with their source.
    pub(in crate::oauth) claims: &'static [(&'static [&'static str], TextSource)],
    pub(in crate::oauth) emails: Emails,
    pub(in crate::oauth) custom: Custom,
}

/// `iss` of the identity.
pub(in crate::oauth) enum Issuer {
    /// The base of the profile call.
    Base,
    /// A path below it.
    Below(&'static str),
    Fixed(&'static str),
    /// The `iss` of the token.
    Claimed,
}

/// The source of a string.
pub(in crate::oauth) enum TextSource {
    At(&'static str),
    /// Several, joined by spaces.
    Joined(&'static [&'static str]),
    By(fn(&Value) -> Option<String>),
}

/// The source of the addresses.
pub(in crate::oauth) enum Emails {
    /// One, which is the primary one.
    One(&'static str, Verified),
    List {
        at: &'static str,
        is_verified: &'static str,
        is_primary: &'static str,
    },
    By(fn(&Value) -> Vec<Email>),
}

/// Whether the one address is verified.
pub(in crate::oauth) enum Verified {
    Always,
    Never,
    If(&'static str),
    By(fn(&Value) -> bool),
}

/// The source of `custom_claims`.
pub(in crate::oauth) enum Custom {
    Nothing,
    Keys(&'static [(&'static str, &'static str)]),
    AllBut(&'static [&'static str]),
    By(fn(&Value) -> crate::model::Object),
}

/// Special cases in the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::oauth) enum Quirk {
    None,
    /// The callback is a form post; the name comes once, beside the code; no parameters are
    /// forwarded.
    Apple,
    /// OAuth 1.0a.
    Twitter,
}
