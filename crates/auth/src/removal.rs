//! Accounts that end: their row goes, or stays as a name without content (auth contract §2.13).

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;
use plinth_db::{DbError, Params, Queries};

use crate::{
    model::{User, identities, sessions},
    request::Context,
};

/// Longest number that a row may hold.
const PHONE_LENGTH: usize = 15;

/// Deletes the account, or blanks it. Doing the latter again changes nothing.
pub(crate) async fn remove(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    is_soft: bool,
) -> Result<(), DbError> {
    if !is_soft {
        let sql = "delete from auth.users where id = $1";
        db.execute(sql, &[&user.id]).await?;
        return Ok(());
    }
    if user.deleted_at.is_some() {
        return Ok(());
    }
    blank_user(context, db, user).await?;
    for identity in identities::list(db, user.id).await? {
        let sql = "update auth.identities
                   set provider_id = $2, identity_data = '{}', updated_at = $3
                   where id = $1";
        let name = format!("{}:{}", identity.provider, identity.provider_id);
        let hidden = obscure(user, &name);
        db.execute(sql, &[&identity.id, &hidden, &context.now])
            .await?;
    }
    sessions::delete_all_but(db, user.id, None).await?;
    for sql in [
        "delete from auth.one_time_tokens where user_id = $1",
        "delete from auth.flow_state where user_id = $1",
        "delete from auth.oauth_authorizations where user_id = $1",
        "delete from auth.mfa_factors where user_id = $1",
        "delete from auth.webauthn_credentials where user_id = $1",
    ] {
        db.execute(sql, &[&user.id]).await?;
    }
    Ok(())
}

async fn blank_user(context: &Context, db: &mut impl Queries, user: &User) -> Result<(), DbError> {
    let sql = "update auth.users
               set email = nullif($2, ''), phone = nullif($3, ''), encrypted_password = '',
                 email_change = $4, phone_change = $5, confirmation_token = '',
                 recovery_token = '', email_change_token_new = '',
                 email_change_token_current = '', phone_change_token = '',
                 reauthentication_token = '', raw_app_meta_data = '{}',
                 raw_user_meta_data = '{}', deleted_at = $6, updated_at = $6
               where id = $1";
    let mut phone = obscure(user, &user.phone);
    phone.truncate(PHONE_LENGTH);
    let mut phone_change = obscure(user, &user.phone_change);
    phone_change.truncate(PHONE_LENGTH);
    let params: Params<'_> = &[
        &user.id,
        &obscure(user, &user.email),
        &phone,
        &obscure(user, &user.email_change),
        &phone_change,
        &context.now,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// A name that says nothing, and the same one every time; nothing stays nothing.
fn obscure(user: &User, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let joined = format!("{}{text}", user.id);
    let hash = digest::digest(&digest::SHA256, joined.as_bytes());
    BASE64URL_NOPAD.encode(hash.as_ref())
}
