//! The identities of a user's own address and number.

use plinth_db::{DbError, Queries};
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::model::{Object, User, identities};

/// What a user signs in with when no provider stands behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contact {
    Email,
    Phone,
}

impl Contact {
    /// Its provider, which is also its key in identity data.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Phone => "phone",
        }
    }

    fn verified_key(self) -> &'static str {
        match self {
            Self::Email => "email_verified",
            Self::Phone => "phone_verified",
        }
    }
}

/// Adds the identity of a contact.
pub(super) async fn insert(
    db: &mut impl Queries,
    user: Uuid,
    contact: Contact,
    value: &str,
    is_verified: bool,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let id = user.to_string();
    let mut data = object(json!({ "sub": id, "email_verified": false, "phone_verified": false }));
    data.extend(said(contact, value, is_verified));
    identities::insert(db, user, contact.as_str(), &id, data, now).await?;
    Ok(())
}

/// Makes the identity of a contact say this, whether there was one or not.
pub(super) async fn put(
    db: &mut impl Queries,
    user: &User,
    contact: Contact,
    value: &str,
    is_verified: bool,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let found = identities::find(db, contact.as_str(), &user.id.to_string()).await?;
    match found {
        None => insert(db, user.id, contact, value, is_verified, now).await,
        Some(identity) => {
            identities::merge_data(db, &identity, &said(contact, value, is_verified), now).await
        }
    }
}

fn said(contact: Contact, value: &str, is_verified: bool) -> Object {
    object(json!({ contact.as_str(): value, contact.verified_key(): is_verified }))
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
