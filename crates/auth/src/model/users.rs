//! `auth.users`: one row per account.

mod body;
mod changes;
mod store;

use plinth_db::{DbError, Row};
use time::OffsetDateTime;
use uuid::Uuid;

use super::Object;

pub(crate) use body::UserBody;
pub(crate) use changes::{
    AnonymizedContacts, anonymize, clear_anonymous, confirm_email, confirm_half_of_email_change,
    confirm_phone, delete, rehash_password, remove_phone, remove_unproven, replace_email,
    replace_email_and_pending, reset_password_hash, restart_email_change, save, set_app_metadata,
    set_confirmed_email, set_confirmed_phone, set_email_change, set_invited, set_last_sign_in,
    set_password_hash, set_phone_change, set_unconfirmed_email, set_user_metadata, unconfirm_email,
};
pub(super) use store::update;
pub(crate) use store::{
    NewUser, find, find_by_email, find_by_identity, find_by_phone, find_with_session, insert,
    is_email_taken, is_phone_taken, load, load_body, lock,
};

/// A user. Texts that are NULL in the row are empty here. Without `Debug`, since it holds hashes of
/// passwords and tokens.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) id: Uuid,
    pub(crate) aud: String,
    /// The PostgreSQL role.
    pub(crate) role: String,
    pub(crate) email: String,
    pub(crate) email_confirmed_at: Option<OffsetDateTime>,
    pub(crate) encrypted_password: String,
    pub(crate) invited_at: Option<OffsetDateTime>,
    pub(crate) confirmation_token: String,
    pub(crate) confirmation_sent_at: Option<OffsetDateTime>,
    pub(crate) recovery_token: String,
    pub(crate) recovery_sent_at: Option<OffsetDateTime>,
    pub(crate) email_change: String,
    pub(crate) email_change_token_new: String,
    pub(crate) email_change_token_current: String,
    pub(crate) email_change_sent_at: Option<OffsetDateTime>,
    pub(crate) email_change_confirm_status: i16,
    pub(crate) phone: String,
    pub(crate) phone_confirmed_at: Option<OffsetDateTime>,
    pub(crate) phone_change: String,
    pub(crate) phone_change_token: String,
    pub(crate) phone_change_sent_at: Option<OffsetDateTime>,
    pub(crate) reauthentication_token: String,
    pub(crate) reauthentication_sent_at: Option<OffsetDateTime>,
    pub(crate) last_sign_in_at: Option<OffsetDateTime>,
    pub(crate) app_metadata: Object,
    pub(crate) user_metadata: Object,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) updated_at: OffsetDateTime,
    pub(crate) confirmed_at: Option<OffsetDateTime>,
    pub(crate) banned_until: Option<OffsetDateTime>,
    pub(crate) deleted_at: Option<OffsetDateTime>,
    pub(crate) is_sso_user: bool,
    pub(crate) is_anonymous: bool,
}

/// The columns of a [`User`], with the table as `u`.
pub(super) const COLUMNS: &str = "
    u.id, u.aud, u.role, u.email, u.email_confirmed_at, u.encrypted_password, u.invited_at,
    u.confirmation_token, u.confirmation_sent_at, u.recovery_token, u.recovery_sent_at,
    u.email_change, u.email_change_token_new, u.email_change_token_current,
    u.email_change_sent_at, u.email_change_confirm_status, u.phone, u.phone_confirmed_at,
    u.phone_change, u.phone_change_token, u.phone_change_sent_at, u.reauthentication_token,
    u.reauthentication_sent_at, u.last_sign_in_at, u.raw_app_meta_data, u.raw_user_meta_data,
    u.created_at, u.updated_at, u.confirmed_at, u.banned_until, u.deleted_at, u.is_sso_user,
    u.is_anonymous";

impl User {
    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        let text = |column: &str| -> Result<String, DbError> {
            let value: Option<String> = row.try_get(column)?;
            Ok(value.unwrap_or_default())
        };
        let object = |column: &str| -> Result<Object, DbError> {
            let value: Option<serde_json::Value> = row.try_get(column)?;
            Ok(match value {
                Some(serde_json::Value::Object(object)) => object,
                _ => Object::new(),
            })
        };
        // Rows inserted by seeds may lack the times.
        let created_at: Option<OffsetDateTime> = row.try_get("created_at")?;
        let created_at = created_at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let updated_at: Option<OffsetDateTime> = row.try_get("updated_at")?;
        let status: Option<i16> = row.try_get("email_change_confirm_status")?;
        Ok(Self {
            id: row.try_get("id")?,
            aud: text("aud")?,
            role: text("role")?,
            email: text("email")?,
            email_confirmed_at: row.try_get("email_confirmed_at")?,
            encrypted_password: text("encrypted_password")?,
            invited_at: row.try_get("invited_at")?,
            confirmation_token: text("confirmation_token")?,
            confirmation_sent_at: row.try_get("confirmation_sent_at")?,
            recovery_token: text("recovery_token")?,
            recovery_sent_at: row.try_get("recovery_sent_at")?,
            email_change: text("email_change")?,
            email_change_token_new: text("email_change_token_new")?,
            email_change_token_current: text("email_change_token_current")?,
            email_change_sent_at: row.try_get("email_change_sent_at")?,
            email_change_confirm_status: status.unwrap_or(0),
            phone: text("phone")?,
            phone_confirmed_at: row.try_get("phone_confirmed_at")?,
            phone_change: text("phone_change")?,
            phone_change_token: text("phone_change_token")?,
            phone_change_sent_at: row.try_get("phone_change_sent_at")?,
            reauthentication_token: text("reauthentication_token")?,
            reauthentication_sent_at: row.try_get("reauthentication_sent_at")?,
            last_sign_in_at: row.try_get("last_sign_in_at")?,
            app_metadata: object("raw_app_meta_data")?,
            user_metadata: object("raw_user_meta_data")?,
            created_at,
            updated_at: updated_at.unwrap_or(created_at),
            confirmed_at: row.try_get("confirmed_at")?,
            banned_until: row.try_get("banned_until")?,
            deleted_at: row.try_get("deleted_at")?,
            is_sso_user: row.try_get("is_sso_user")?,
            is_anonymous: row.try_get("is_anonymous")?,
        })
    }

    pub(crate) fn is_banned(&self, now: OffsetDateTime) -> bool {
        self.banned_until.is_some_and(|until| now < until)
    }

    pub(crate) fn is_email_confirmed(&self) -> bool {
        self.email_confirmed_at.is_some()
    }

    pub(crate) fn is_phone_confirmed(&self) -> bool {
        self.phone_confirmed_at.is_some()
    }

    pub(crate) fn has_password(&self) -> bool {
        !self.encrypted_password.is_empty()
    }
}

/// Merges `changes` into `object`, one level deep; `null` removes a key.
pub(crate) fn merge(object: &mut Object, changes: &Object) {
    for (key, value) in changes {
        if value.is_null() {
            object.remove(key)
        } else {
            object.insert(key.clone(), value.clone())
        };
    }
}
