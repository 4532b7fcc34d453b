//! The things that accounts consist of: rows of `auth.*` and the bodies they become. What is done
//! with them is the business of the endpoints.

mod belongings;
pub(crate) mod factors;
pub(crate) mod flows;
pub(crate) mod identities;
pub(crate) mod one_time;
pub(crate) mod sessions;
pub(crate) mod users;

pub(crate) use belongings::Belongings;
pub(crate) use factors::{Factor, FactorBody, FactorKind};
pub(crate) use flows::{Flow, FlowMethod};
pub(crate) use identities::{Identity, IdentityBody};
pub(crate) use one_time::TokenKind;
pub(crate) use sessions::Session;
pub(crate) use users::{NewUser, User, UserBody};

/// A JSON object, as metadata is.
pub(crate) type Object = serde_json::Map<String, serde_json::Value>;
