//! `DELETE /admin/users/{id}`: away with the row, or with all that it says about a person.

use aws_lc_rs::digest;
use axum::Json;
use data_encoding::BASE64URL_NOPAD;
use plinth_db::{DbError, Params, Queries};
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use super::one_user::{self, UserPath};
use crate::{
    AuthError,
    audit::{self, Action},
    model::{Object, User, identities, one_time, sessions, users},
    request::{Admin, Context, Input},
};

/// How much goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The row, and by cascade everything that hangs on it.
    Hard,
    /// What the row says; its id stays taken.
    Soft,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeleteParams {
    should_soft_delete: bool,
}

/// `DELETE /admin/users/{id}`
pub(crate) async fn delete(
    context: Context,
    admin: Admin,
    path: UserPath,
    Input(params): Input<DeleteParams>,
) -> Result<Json<Value>, AuthError> {
    let id = one_user::user_id(path)?;
    let removal = match params.should_soft_delete {
        true => Removal::Soft,
        false => Removal::Hard,
    };
    let mut db = context.begin().await?;
    let user = one_user::lock(&mut db, id).await?;
    let traits = json!({
        "user_id": id, "user_email": user.email, "user_phone": user.phone,
    });
    audit::write(&context, &mut db, &admin, Action::UserDeleted, traits).await?;
    remove(&mut db, &user, removal, context.now).await?;
    db.commit().await?;
    Ok(Json(json!({})))
}

/// Removes a user whose row is locked; the audit log is the caller's.
pub(crate) async fn remove(
    db: &mut impl Queries,
    user: &User,
    removal: Removal,
    now: OffsetDateTime,
) -> Result<(), AuthError> {
    match removal {
        Removal::Hard => {
            let sql = "delete from auth.users where id = $1";
            let deleted = db.execute(sql, &[&user.id]).await;
            deleted.map_err(|error| AuthError::database("Database error deleting user", error))?;
            Ok(())
        }
        Removal::Soft if user.deleted_at.is_some() => Ok(()),
        Removal::Soft => blank(db, user, now)
            .await
            .map_err(|error| AuthError::database("Error soft deleting user", error)),
    }
}

async fn blank(db: &mut impl Queries, user: &User, now: OffsetDateTime) -> Result<(), DbError> {
    one_time::clear_all(db, user.id, now).await?;
    let columns = "email = $1, phone = $2, email_change = $3, phone_change = $4,
                   encrypted_password = null, raw_app_meta_data = '{}', raw_user_meta_data = '{}',
                   deleted_at = $5";
    let values: Params<'_> = &[
        &hidden(user.id, &user.email),
        &hidden_phone(user.id, &user.phone),
        &hidden(user.id, &user.email_change),
        &hidden_phone(user.id, &user.phone_change),
        &now,
    ];
    users::update(db, user.id, now, columns, values).await?;
    for identity in identities::list(db, user.id).await? {
        identities::update_data(db, identity.id, &Object::new(), now).await?;
        let name = format!("{}:{}", identity.provider, identity.provider_id);
        let sql = "update auth.identities set provider_id = $2 where id = $1";
        db.execute(sql, &[&identity.id, &hidden(user.id, &name)])
            .await?;
    }
    let sql = "delete from auth.mfa_factors where user_id = $1";
    db.execute(sql, &[&user.id]).await?;
    let sql = "delete from auth.webauthn_credentials where user_id = $1";
    db.execute(sql, &[&user.id]).await?;
    sessions::delete_all_but(db, user.id, None).await
}

/// Stands for a value that was there, and tells it to nobody who does not know it already.
fn hidden(user: Uuid, value: &str) -> String {
    let text = format!("{user}{value}");
    BASE64URL_NOPAD.encode(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

/// As long as a number may be.
fn hidden_phone(user: Uuid, phone: &str) -> String {
    let mut text = hidden(user, phone);
    text.truncate(15);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_values_are_hashes_of_id_and_value() {
        let user: Uuid = "11111111-2222-3333-4444-555555555555".parse().expect("one");
        let text = "11111111-2222-3333-4444-555555555555ann@mail.dev";
        let expected = digest::digest(&digest::SHA256, text.as_bytes());

        let value = hidden(user, "ann@mail.dev");

        assert_eq!(value, BASE64URL_NOPAD.encode(expected.as_ref()));
        assert_eq!(hidden_phone(user, "ann@mail.dev"), value[..15]);
    }
}
