//! SQL over `auth.users`.

use plinth_db::{DbError, Params, Queries};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{COLUMNS, User, UserBody};
use crate::model::{Object, Session, UserRelations, identities::PROVES_ADDRESS, sessions};

/// GoTrue's instances are not used: there is one.
const INSTANCE: Uuid = Uuid::nil();

/// Both halves can use the index on instance and address; rows from seeds have no instance.
const HAS_EMAIL: &str = "(
    u.instance_id = '00000000-0000-0000-0000-000000000000' and lower(u.email) = $1
    or u.instance_id is null and lower(u.email) = $1)";

/// A user to be inserted, with everything that a trigger may want to see (§11).
#[derive(Clone)]
pub(crate) struct NewUser {
    pub(crate) id: Uuid,
    pub(crate) aud: String,
    pub(crate) role: String,
    /// Empty for none, like all texts here.
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) encrypted_password: String,
    pub(crate) app_metadata: Object,
    pub(crate) user_metadata: Object,
    pub(crate) is_anonymous: bool,
    pub(crate) is_sso_user: bool,
}

/// Inserts the row, then sets the role; returns the row as triggers left it.
pub(crate) async fn insert(
    db: &mut impl Queries,
    new: NewUser,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let sql = "insert into auth.users (
                 instance_id, id, aud, role, email, phone, encrypted_password, raw_app_meta_data,
                 raw_user_meta_data, is_anonymous, is_sso_user, created_at, updated_at,
                 confirmation_token, recovery_token, email_change_token_new, email_change)
               values ($1, $2, $3, '', nullif($4, ''), nullif($5, ''), $6, $7, $8, $9, $10, $11, $11,
                 '', '', '', '')";
    let (app, user) = (
        Value::Object(new.app_metadata),
        Value::Object(new.user_metadata),
    );
    let params: Params<'_> = &[
        &INSTANCE,
        &new.id,
        &new.aud,
        &new.email,
        &new.phone,
        &new.encrypted_password,
        &app,
        &user,
        &new.is_anonymous,
        &new.is_sso_user,
        &now,
    ];
    db.execute(sql, params).await?;
    update(db, new.id, now, "role = $1", &[&new.role]).await
}

/// Sets columns (`email = $1, phone = $2`) and returns the row.
pub(in crate::model) async fn update(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
    columns: &'static str,
    values: Params<'_>,
) -> Result<User, DbError> {
    let (at, key) = (values.len() + 1, values.len() + 2);
    let sql = format!(
        "update auth.users u set {columns}, updated_at = ${at} where u.id = ${key} returning {COLUMNS}"
    );
    let mut params = values.to_vec();
    params.push(&now);
    params.push(&id);
    expect_user(db.query_opt(&sql, &params).await?)
}

/// By id.
pub(crate) async fn find(db: &mut impl Queries, id: Uuid) -> Result<Option<User>, DbError> {
    let sql = format!("select {COLUMNS} from auth.users u where u.id = $1");
    optional(db.query_opt(&sql, &[&id]).await?)
}

/// By id, for a row that is known to exist.
pub(crate) async fn load(db: &mut impl Queries, id: Uuid) -> Result<User, DbError> {
    find(db, id).await?.ok_or_else(user_not_found)
}

/// As [`find`], and locks the row until the transaction ends.
pub(crate) async fn lock(db: &mut impl Queries, id: Uuid) -> Result<Option<User>, DbError> {
    let sql = format!("select {COLUMNS} from auth.users u where u.id = $1 for update");
    optional(db.query_opt(&sql, &[&id]).await?)
}

/// By id, with identities and factors, and the session of that id if it is the user's.
pub(crate) async fn find_with_session(
    db: &mut impl Queries,
    id: Uuid,
    session: Option<Uuid>,
) -> Result<Option<(User, UserRelations, Option<Session>)>, DbError> {
    let sql = format!(
        "select {COLUMNS}, {}, {} from auth.users u
         left join auth.sessions s on s.id = $2
         where u.id = $1",
        UserRelations::columns(),
        sessions::COLUMNS
    );
    let Some(row) = db.query_opt(&sql, &[&id, &session]).await? else {
        return Ok(None);
    };
    // Compared here and not in the join, which might read all sessions of the user.
    let session = Session::from_joined_row(&row)?.filter(|session| session.user_id == id);
    Ok(Some((
        User::from_row(&row)?,
        UserRelations::from_row(&row)?,
        session,
    )))
}

/// By lower-case address, without users of single sign-on.
pub(crate) async fn find_by_email(
    db: &mut impl Queries,
    email: &str,
    aud: &str,
) -> Result<Option<User>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.users u
         where {HAS_EMAIL} and u.aud = $2 and not u.is_sso_user
         limit 1"
    );
    optional(db.query_opt(&sql, &[&email, &aud]).await?)
}

/// By an address that one of the user's identities proves, without users of single sign-on and
/// identities of the providers in `except`.
pub(crate) async fn find_by_identity(
    db: &mut impl Queries,
    email: &str,
    aud: &str,
    except: &[&str],
) -> Result<Option<User>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.identities i
         join auth.users u on u.id = i.user_id
         where i.email = $1 and u.aud = $2 and not u.is_sso_user and {PROVES_ADDRESS}
           and i.provider not like 'sso:%' and i.provider <> all ($3)
         order by i.created_at limit 1"
    );
    optional(db.query_opt(&sql, &[&email, &aud, &except]).await?)
}

/// By number, without `+`.
pub(crate) async fn find_by_phone(
    db: &mut impl Queries,
    phone: &str,
    aud: &str,
) -> Result<Option<User>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.users u
         where u.phone = $1 and u.aud = $2 and not u.is_sso_user
         limit 1"
    );
    optional(db.query_opt(&sql, &[&phone, &aud]).await?)
}

/// Whether a user other than `except` has this address: in the row, or through an identity of the
/// default linking domain.
pub(crate) async fn is_email_taken(
    db: &mut impl Queries,
    email: &str,
    aud: &str,
    except: Option<Uuid>,
) -> Result<bool, DbError> {
    let sql = format!(
        "select exists (
           select 1 from auth.users u
           where {HAS_EMAIL} and u.aud = $2 and not u.is_sso_user and u.id is distinct from $3
         ) or exists (
           select 1 from auth.identities i
           join auth.users u on u.id = i.user_id
           where i.email = $1 and u.aud = $2 and not u.is_sso_user and u.id is distinct from $3
             and {PROVES_ADDRESS}
         ) as is_taken"
    );
    let row = db.query_opt(&sql, &[&email, &aud, &except]).await?;
    row.ok_or_else(user_not_found)?.try_get("is_taken")
}

/// Whether a user other than `except` has this number.
pub(crate) async fn is_phone_taken(
    db: &mut impl Queries,
    phone: &str,
    aud: &str,
    except: Option<Uuid>,
) -> Result<bool, DbError> {
    let sql = "select 1 from auth.users u
               where u.phone = $1 and u.aud = $2 and u.id is distinct from $3";
    Ok(db.query_opt(sql, &[&phone, &aud, &except]).await?.is_some())
}

/// Reads identities and factors.
pub(crate) async fn load_body(db: &mut impl Queries, user: User) -> Result<UserBody, DbError> {
    let sql = format!(
        "select {} from (select $1::uuid as id) u",
        UserRelations::columns()
    );
    let row = db.query_opt(&sql, &[&user.id]).await?;
    let relations = UserRelations::from_row(&row.ok_or_else(user_not_found)?)?;
    Ok(UserBody::with_relations(user, relations))
}

fn optional(row: Option<plinth_db::Row>) -> Result<Option<User>, DbError> {
    row.as_ref().map(User::from_row).transpose()
}

fn expect_user(row: Option<plinth_db::Row>) -> Result<User, DbError> {
    User::from_row(&row.ok_or_else(user_not_found)?)
}

/// A row that was just read no longer exists.
fn user_not_found() -> DbError {
    DbError::Misuse("a user that was just read no longer exists".to_owned())
}
