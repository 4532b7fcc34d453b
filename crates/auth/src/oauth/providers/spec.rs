//! What one row of the table of providers says.

use serde_json::Value;

use super::{azure, profile::Email};

/// A provider as the world knows it, before any project has an account there.
pub(in crate::oauth) struct Spec {
    pub(in crate::oauth) name: &'static str,
    pub(in crate::oauth) entrance: Entrance,
    pub(in crate::oauth) client_auth: ClientAuth,
    /// What is asked for always.
    pub(in crate::oauth) scopes: &'static [&'static str],
    /// Whether the caller may ask for more with `scopes`.
    pub(in crate::oauth) takes_scopes: bool,
    /// Whether we prove to the provider that the code is ours.
    pub(in crate::oauth) uses_pkce: bool,
    /// Where the redirect flow reads who came.
    pub(in crate::oauth) person: Person,
    /// How its ID tokens are read, in the redirect flow and when clients bring one.
    pub(in crate::oauth) id_token: Option<IdTokenSpec>,
    pub(in crate::oauth) quirk: Quirk,
}

/// Where people are sent, and where codes are exchanged. `EXTERNAL_<NAME>_URL` takes the place of
/// every base.
pub(in crate::oauth) enum Entrance {
    At {
        authorize: Place,
        token: Place,
    },
    /// The same, below an address that only the project knows.
    BelowUrl {
        authorize: &'static str,
        token: &'static str,
    },
    /// As the discovery document of this issuer says.
    Discovered(&'static str),
}

/// A host and a path there.
pub(in crate::oauth) struct Place {
    pub(in crate::oauth) base: &'static str,
    pub(in crate::oauth) path: &'static str,
}

/// How the token endpoint learns who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::oauth) enum ClientAuth {
    Header,
    Body,
    /// The header first, the body when that is refused.
    Either,
}

/// Where the redirect flow reads who came.
pub(in crate::oauth) enum Person {
    /// The ID token beside the access token, and nothing else.
    IdToken,
    /// The ID token if there is one.
    IdTokenOrApi(Api),
    Api(Api),
    /// A member of the token endpoint's answer.
    TokenAnswer {
        at: &'static str,
        base: &'static str,
        mapping: Mapping,
    },
}

/// Calls that tell who an access token belongs to.
pub(in crate::oauth) struct Api {
    pub(in crate::oauth) base: &'static str,
    /// Added to the base where the project names its own server.
    pub(in crate::oauth) self_hosted_path: &'static str,
    pub(in crate::oauth) path: &'static str,
    /// A second call; its answer is put under `emails` of the first.
    pub(in crate::oauth) emails_path: Option<&'static str>,
    pub(in crate::oauth) extra: Extra,
    pub(in crate::oauth) mapping: Mapping,
}

/// What a profile call needs beside the access token.
pub(in crate::oauth) enum Extra {
    Nothing,
    Header(&'static str, &'static str),
    /// A header that names our client id.
    ClientId(&'static str),
    /// `appsecret_proof`: the access token signed with the client secret.
    SecretProof,
}

/// Whose ID tokens are taken, and what they say.
pub(in crate::oauth) struct IdTokenSpec {
    pub(in crate::oauth) issuers: Issuers,
    pub(in crate::oauth) skips_nonce: bool,
    /// `None` where claims have their usual names.
    pub(in crate::oauth) mapping: Option<Mapping>,
}

/// Who may have signed an ID token.
pub(in crate::oauth) enum Issuers {
    /// One of these; the configured `url` takes their place.
    OneOf(&'static [&'static str]),
    /// A tenant of Microsoft's; a configured tenant pins it.
    Azure,
    /// The configured `url`.
    Url,
}

impl Issuers {
    /// Whether this issuer belongs to the provider whatever the project says.
    pub(in crate::oauth) fn names(&self, issuer: &str) -> bool {
        match self {
            Self::OneOf(issuers) => issuers.contains(&issuer),
            Self::Azure => azure::is_issuer(issuer),
            Self::Url => false,
        }
    }
}

/// From a provider's JSON to our claims. Texts are JSON pointers unless said otherwise.
pub(in crate::oauth) struct Mapping {
    pub(in crate::oauth) issuer: Issuer,
    pub(in crate::oauth) subject: Text,
    /// Which claims take which text.
    pub(in crate::oauth) claims: &'static [(&'static [&'static str], Text)],
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
    /// As the token says.
    Claimed,
}

/// Where a text comes from.
pub(in crate::oauth) enum Text {
    At(&'static str),
    /// Several, with a space between.
    Words(&'static [&'static str]),
    By(fn(&Value) -> Option<String>),
}

/// Where the addresses are.
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

/// Whether the provider vouches for its one address.
pub(in crate::oauth) enum Verified {
    Always,
    Never,
    If(&'static str),
    By(fn(&Value) -> bool),
}

/// What goes to `custom_claims`.
pub(in crate::oauth) enum Custom {
    Nothing,
    Keys(&'static [(&'static str, &'static str)]),
    AllBut(&'static [&'static str]),
    By(fn(&Value) -> crate::model::Object),
}

/// What cannot be said in the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::oauth) enum Quirk {
    None,
    /// Answers come as a form; the name comes once, beside the code; no other parameters.
    Apple,
    /// OAuth 1.0a.
    Twitter,
}
