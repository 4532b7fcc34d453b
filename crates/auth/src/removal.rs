//! Deletes users: a hard deletion removes the row, a soft one anonymizes it (auth contract §2.13).

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;
use plinth_db::{DbError, Queries};

use crate::{
    model::{
        User, factors, flows, identities, oauth_authorizations, one_time, passkeys, sessions,
        users::{self, AnonymizedContacts},
    },
    request::RequestContext,
};

/// The length of the column.
const PHONE_LENGTH: usize = 15;

/// Deletes or anonymizes the user. Anonymizing twice changes nothing.
pub(crate) async fn remove(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    is_soft: bool,
) -> Result<(), DbError> {
    if !is_soft {
        return users::delete(db, user.id).await;
    }
    if user.deleted_at.is_some() {
        return Ok(());
    }
    anonymize(context, db, user).await?;
    sessions::delete_all_but(db, user.id, None).await?;
    one_time::delete_all(db, user.id).await?;
    flows::delete_all(db, user.id).await?;
    oauth_authorizations::delete_all(db, user.id).await?;
    factors::delete_all(db, user.id).await?;
    passkeys::delete_all(db, user.id).await?;
    Ok(())
}

async fn anonymize(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
) -> Result<(), DbError> {
    let hidden_phone = |phone: &str| {
        let mut hidden = hash_personal_text(user, phone);
        hidden.truncate(PHONE_LENGTH);
        hidden
    };
    let contacts = AnonymizedContacts {
        email: hash_personal_text(user, &user.email),
        phone: hidden_phone(&user.phone),
        email_change: hash_personal_text(user, &user.email_change),
        phone_change: hidden_phone(&user.phone_change),
    };
    users::anonymize(db, user.id, &contacts, context.now).await?;
    for identity in identities::list(db, user.id).await? {
        let name = format!("{}:{}", identity.provider, identity.provider_id);
        let hidden = hash_personal_text(user, &name);
        identities::anonymize(db, identity.id, &hidden, context.now).await?;
    }
    Ok(())
}

/// A stable hash of a personal text; empty stays empty.
fn hash_personal_text(user: &User, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let joined = format!("{}{text}", user.id);
    let hash = digest::digest(&digest::SHA256, joined.as_bytes());
    BASE64URL_NOPAD.encode(hash.as_ref())
}
