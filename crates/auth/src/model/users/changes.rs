//! Updates of single columns of `auth.users`. Each returns the row as triggers left it.

use plinth_db::{DbError, Params, Queries};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{User, store::update};
use crate::model::Object;

pub(crate) async fn set_last_sign_in(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "last_sign_in_at = $1", &[&now]).await
}

pub(crate) async fn set_invited(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "invited_at = $1", &[&now]).await
}

pub(crate) async fn set_user_metadata(
    db: &mut impl Queries,
    id: Uuid,
    metadata: Object,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let metadata = Value::Object(metadata);
    update(db, id, now, "raw_user_meta_data = $1", &[&metadata]).await
}

pub(crate) async fn set_app_metadata(
    db: &mut impl Queries,
    id: Uuid,
    metadata: Object,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let metadata = Value::Object(metadata);
    update(db, id, now, "raw_app_meta_data = $1", &[&metadata]).await
}

pub(crate) async fn set_password_hash(
    db: &mut impl Queries,
    id: Uuid,
    hash: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "encrypted_password = $1", &[&hash]).await
}

/// Sets a hash, and clears when something was last sent to the user.
pub(crate) async fn reset_password_hash(
    db: &mut impl Queries,
    id: Uuid,
    hash: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "encrypted_password = $1, confirmation_sent_at = null, recovery_sent_at = null,
                   email_change_sent_at = null, phone_change_sent_at = null,
                   reauthentication_sent_at = null";
    update(db, id, now, columns, &[&hash]).await
}

/// Replaces a hash by another of the same password, unless it was changed in the meantime.
pub(crate) async fn rehash_password(
    db: &mut impl Queries,
    user: &User,
    hash: &str,
) -> Result<(), DbError> {
    let sql = "update auth.users set encrypted_password = $2
               where id = $1 and encrypted_password = $3";
    db.execute(sql, &[&user.id, &hash, &user.encrypted_password])
        .await?;
    Ok(())
}

pub(crate) async fn confirm_email(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "email_confirmed_at = $1", &[&now]).await
}

pub(crate) async fn confirm_phone(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "phone_confirmed_at = $1", &[&now]).await
}

/// Takes the confirmation of the address back; `metadata` says so too.
pub(crate) async fn unconfirm_email(
    db: &mut impl Queries,
    id: Uuid,
    metadata: Object,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let metadata = Value::Object(metadata);
    let columns = "email_confirmed_at = null, raw_user_meta_data = $1";
    update(db, id, now, columns, &[&metadata]).await
}

/// The user is no longer anonymous.
pub(crate) async fn clear_anonymous(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "is_anonymous = false", &[]).await
}

/// Sets a confirmed address and ends a pending change.
pub(crate) async fn set_confirmed_email(
    db: &mut impl Queries,
    id: Uuid,
    email: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "email = $1, email_confirmed_at = $2, email_change = '',
                   email_change_token_new = '', email_change_token_current = '',
                   email_change_confirm_status = 0";
    let values: Params<'_> = &[&email, &now];
    update(db, id, now, columns, values).await
}

/// Sets an address that is not confirmed yet.
pub(crate) async fn set_unconfirmed_email(
    db: &mut impl Queries,
    id: Uuid,
    email: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "email = $1, email_confirmed_at = null, confirmation_sent_at = null";
    update(db, id, now, columns, &[&email]).await
}

/// Sets another address; whether it is confirmed stays as it is.
pub(crate) async fn replace_email(
    db: &mut impl Queries,
    id: Uuid,
    email: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "email = $1, confirmation_sent_at = null";
    update(db, id, now, columns, &[&email]).await
}

/// As [`replace_email`], and ends pending changes. An empty address is none.
pub(crate) async fn replace_email_and_pending(
    db: &mut impl Queries,
    id: Uuid,
    email: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "email = nullif($1, ''), email_change = '', phone_change = '',
                   email_change_confirm_status = 0, confirmation_sent_at = null";
    update(db, id, now, columns, &[&email]).await
}

/// Begins a change of address.
pub(crate) async fn set_email_change(
    db: &mut impl Queries,
    id: Uuid,
    email: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "email_change = $1, email_change_confirm_status = 0";
    update(db, id, now, columns, &[&email]).await
}

/// Begins a change of address anew: a token that was sent to the current address is void.
pub(crate) async fn restart_email_change(
    db: &mut impl Queries,
    id: Uuid,
    email: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "email_change = $1, email_change_confirm_status = 0,
                   email_change_token_current = ''";
    update(db, id, now, columns, &[&email]).await
}

/// One of the two addresses has confirmed the change.
pub(crate) async fn confirm_half_of_email_change(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "email_change_confirm_status = 1", &[]).await
}

/// Begins a change of number.
pub(crate) async fn set_phone_change(
    db: &mut impl Queries,
    id: Uuid,
    phone: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "phone_change = $1", &[&phone]).await
}

/// Sets a confirmed number and ends a pending change.
pub(crate) async fn set_confirmed_phone(
    db: &mut impl Queries,
    id: Uuid,
    phone: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "phone = $1, phone_confirmed_at = $2, phone_change = '', phone_change_token = ''";
    let values: Params<'_> = &[&phone, &now];
    update(db, id, now, columns, values).await
}

pub(crate) async fn remove_phone(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    update(db, id, now, "phone = null, phone_confirmed_at = null", &[]).await
}

/// Removes password, number and pending changes, and replaces `user_metadata`.
pub(crate) async fn remove_unproven(
    db: &mut impl Queries,
    id: Uuid,
    metadata: Object,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let metadata = Value::Object(metadata);
    let columns = "encrypted_password = null, raw_user_meta_data = $1, phone = null,
                   phone_confirmed_at = null, phone_change = '', email_change = '',
                   email_change_confirm_status = 0";
    update(db, id, now, columns, &[&metadata]).await
}

/// Writes back what an administrator can change. The row must be locked.
pub(crate) async fn save(
    db: &mut impl Queries,
    user: &User,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = "role = $1, email = nullif($2, ''), phone = nullif($3, ''),
                   email_confirmed_at = $4, phone_confirmed_at = $5, raw_app_meta_data = $6,
                   raw_user_meta_data = $7, banned_until = $8, is_anonymous = $9";
    let app_metadata = Value::Object(user.app_metadata.clone());
    let user_metadata = Value::Object(user.user_metadata.clone());
    let values: Params<'_> = &[
        &user.role,
        &user.email,
        &user.phone,
        &user.email_confirmed_at,
        &user.phone_confirmed_at,
        &app_metadata,
        &user_metadata,
        &user.banned_until,
        &user.is_anonymous,
    ];
    update(db, user.id, now, columns, values).await
}

/// Contacts of an anonymized row: hashes.
pub(crate) struct AnonymizedContacts {
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) email_change: String,
    pub(crate) phone_change: String,
}

/// Blanks a row and marks it as deleted.
pub(crate) async fn anonymize(
    db: &mut impl Queries,
    id: Uuid,
    contacts: &AnonymizedContacts,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.users
               set email = nullif($2, ''), phone = nullif($3, ''), encrypted_password = '',
                 email_change = $4, phone_change = $5, confirmation_token = '',
                 recovery_token = '', email_change_token_new = '',
                 email_change_token_current = '', phone_change_token = '',
                 reauthentication_token = '', raw_app_meta_data = '{}',
                 raw_user_meta_data = '{}', deleted_at = $6, updated_at = $6
               where id = $1";
    let params: Params<'_> = &[
        &id,
        &contacts.email,
        &contacts.phone,
        &contacts.email_change,
        &contacts.phone_change,
        &now,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// Deletes the row; what refers to it goes with it.
pub(crate) async fn delete(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    db.execute("delete from auth.users where id = $1", &[&id])
        .await?;
    Ok(())
}
