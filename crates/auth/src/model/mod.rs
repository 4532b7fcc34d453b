//! The tables of the schema `auth`: rows, the bodies that they become, and all SQL of the crate.
//!
//! Functions take `&mut impl Queries`, so the caller decides about transactions. Nothing here knows
//! about HTTP.

pub(crate) mod audit_log;
pub(crate) mod client_states;
mod conflicts;
pub(crate) mod custom_providers;
pub(crate) mod expired;
pub(crate) mod factors;
pub(crate) mod flows;
pub(crate) mod hook_functions;
pub(crate) mod identities;
mod like;
pub(crate) mod mailbox;
pub(crate) mod mfa_challenges;
pub(crate) mod oauth_authorizations;
pub(crate) mod oauth_clients;
pub(crate) mod oauth_consents;
pub(crate) mod one_time;
pub(crate) mod passkeys;
pub(crate) mod rate_limits;
pub(crate) mod refresh_tokens;
mod relations;
pub(crate) mod savepoint;
pub(crate) mod sessions;
pub(crate) mod subject;
pub(crate) mod user_list;
pub(crate) mod user_search;
pub(crate) mod users;
pub(crate) mod webauthn_challenges;

pub(crate) use conflicts::Conflict;
pub(crate) use factors::{Factor, FactorBody, FactorKind};
pub(crate) use flows::{Flow, FlowMethod};
pub(crate) use identities::{Identity, IdentityBody};
pub(crate) use one_time::TokenKind;
pub(crate) use relations::UserRelations;
pub(crate) use sessions::Session;
pub(crate) use users::{NewUser, User, UserBody};

/// A JSON object, such as metadata.
pub(crate) type Object = serde_json::Map<String, serde_json::Value>;
