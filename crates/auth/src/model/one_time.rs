//! One-time tokens, sent by mail and text message (auth contract §7.1).
//!
//! A token has two forms, and a mail contains both: digits to type, and the token of a link. The
//! digits can be guessed, so attempts are counted; the link's token cannot. The hash of the digits
//! is in a column of `auth.users`, the link's token in a row of `auth.one_time_tokens`. Both are
//! written and cleared together. The number of wrong attempts is appended to the hash, so that all
//! nodes share it and a new token begins without it.

use aws_lc_rs::digest;
use data_encoding::HEXLOWER;
use plinth_db::{DbError, Params, Queries};
use subtle::ConstantTimeEq;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{User, users};

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Confirmation,
    Reauthentication,
    Recovery,
    EmailChangeNew,
    EmailChangeCurrent,
    PhoneChange,
}

impl TokenKind {
    /// A value of `auth.one_time_token_type`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation_token",
            Self::Reauthentication => "reauthentication_token",
            Self::Recovery => "recovery_token",
            Self::EmailChangeNew => "email_change_token_new",
            Self::EmailChangeCurrent => "email_change_token_current",
            Self::PhoneChange => "phone_change_token",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [
            Self::Confirmation,
            Self::Reauthentication,
            Self::Recovery,
            Self::EmailChangeNew,
            Self::EmailChangeCurrent,
            Self::PhoneChange,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == text)
    }
}

/// Prefix of the tokens of PKCE flows.
pub(crate) const PKCE_PREFIX: &str = "pkce_";

/// The token of a link: random, in the format of GoTrue's, which is the hash of the digits and
/// allows to guess these offline.
pub(crate) fn link_token() -> String {
    HEXLOWER.encode(&crate::random::bytes::<28>())
}

/// The hash of the digits.
pub(crate) fn hash(address: &str, otp: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA224);
    context.update(address.as_bytes());
    context.update(otp.as_bytes());
    HEXLOWER.encode(context.finish().as_ref())
}

/// Separates a hash from the number of wrong attempts.
const COUNT_MARK: char = '~';

/// The last wrong attempt revokes the token.
const MAX_WRONG_CODES: u32 = 10;

/// Splits the stored text into hash and number of wrong attempts. A malformed number counts as the
/// maximum.
fn split_count(stored: &str) -> (&str, u32) {
    match stored.split_once(COUNT_MARK) {
        Some((hash, wrong)) => (hash, wrong.parse().unwrap_or(MAX_WRONG_CODES)),
        None => (stored, 0),
    }
}

/// The text to store after a wrong attempt; `None` after the last.
fn after_wrong(stored: &str) -> Option<String> {
    let (hash, wrong) = split_count(stored);
    let wrong = wrong.saturating_add(1);
    (wrong < MAX_WRONG_CODES).then(|| format!("{hash}{COUNT_MARK}{wrong}"))
}

/// Whether the stored hash belongs to these digits; with or without [`PKCE_PREFIX`].
pub(crate) fn is_hash_of(stored: &str, address: &str, otp: &str) -> bool {
    let (stored, _) = split_count(stored);
    let stored = stored.strip_prefix(PKCE_PREFIX).unwrap_or(stored);
    let wanted = hash(address, otp);
    !stored.is_empty() && bool::from(stored.as_bytes().ct_eq(wanted.as_bytes()))
}

/// Stores the token of a link in place of an earlier one of the kind.
pub(crate) async fn upsert(
    db: &mut impl Queries,
    user: Uuid,
    kind: TokenKind,
    relates_to: &str,
    link_token: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "insert into auth.one_time_tokens
                 (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
               values ($1, $2, $3::text::auth.one_time_token_type, $4, $5,
                 $6::timestamptz at time zone 'utc', $6::timestamptz at time zone 'utc')
               on conflict (user_id, token_type) do update
                 set token_hash = excluded.token_hash, relates_to = excluded.relates_to,
                   updated_at = excluded.updated_at";
    let id = crate::random::uuid();
    db.execute(
        sql,
        &[&id, &user, &kind.as_str(), &link_token, &relates_to, &now],
    )
    .await?;
    Ok(())
}

/// Finds the user of a link's token of one of these kinds, and locks the row. Only if it was sent
/// to the address that it stands for: codes for phones have rows too, and prove no address.
pub(crate) async fn lock_by_link(
    db: &mut impl Queries,
    token: &str,
    kinds: &[TokenKind],
) -> Result<Option<(User, TokenKind)>, DbError> {
    let Some((id, kind, _)) = find(db, token, kinds).await? else {
        return Ok(None);
    };
    let Some(user) = users::lock(db, id).await? else {
        return Ok(None);
    };
    // A concurrent request with the same token may have used it before we got the lock.
    let Some((_, _, sent_to)) = find(db, token, &[kind]).await? else {
        return Ok(None);
    };
    let counts_at = match kind {
        TokenKind::EmailChangeNew => &user.email_change,
        _ => &user.email,
    };
    let is_right = sent_to.to_lowercase() == counts_at.to_lowercase();
    Ok(is_right.then_some((user, kind)))
}

/// User and kind of a link's token, and the address that it was sent to.
async fn find(
    db: &mut impl Queries,
    token: &str,
    kinds: &[TokenKind],
) -> Result<Option<(Uuid, TokenKind, String)>, DbError> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let sql = "select t.user_id, t.token_type::text as token_type, t.relates_to
               from auth.one_time_tokens t
               where t.token_hash = $1 and t.token_type::text = any($2)
               limit 1";
    let Some(row) = db.query_opt(sql, &[&token, &kinds]).await? else {
        return Ok(None);
    };
    let kind: String = row.try_get("token_type")?;
    let (user, sent_to) = (row.try_get("user_id")?, row.try_get("relates_to")?);
    Ok(TokenKind::parse(&kind).map(|kind| (user, kind, sent_to)))
}

/// The user whose token of these kinds was sent to this address or number. Several users may have
/// requested the same address: the one whose digits match comes first.
pub(crate) async fn find_sent_to(
    db: &mut impl Queries,
    address: &str,
    otp: &str,
    kinds: &[TokenKind],
) -> Result<Option<Uuid>, DbError> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let plain = hash(address, otp);
    let hashes = vec![format!("{PKCE_PREFIX}{plain}"), plain];
    let sql = "select t.user_id
               from auth.one_time_tokens t join auth.users u on u.id = t.user_id
               where t.relates_to = $1 and t.token_type::text = any($2)
               order by coalesce(split_part(case t.token_type
                   when 'email_change_token_new' then u.email_change_token_new
                   when 'email_change_token_current' then u.email_change_token_current
                   when 'phone_change_token' then u.phone_change_token
                 end, $4, 1) = any($3::text[]), false) desc, t.updated_at desc
               limit 1";
    let mark = COUNT_MARK.to_string();
    let params: Params<'_> = &[&address, &kinds, &hashes, &mark];
    let row = db.query_opt(sql, params).await?;
    row.map(|row| row.try_get("user_id")).transpose()
}

/// Deletes the row of one token; the caller clears its column.
pub(crate) async fn delete(
    db: &mut impl Queries,
    user: Uuid,
    kind: TokenKind,
) -> Result<(), DbError> {
    let sql = "delete from auth.one_time_tokens
               where user_id = $1 and token_type = $2::text::auth.one_time_token_type";
    db.execute(sql, &[&user, &kind.as_str()]).await?;
    Ok(())
}

/// Revokes one token of the user, in both places.
pub(crate) async fn revoke(
    db: &mut impl Queries,
    user: Uuid,
    kind: TokenKind,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    delete(db, user, kind).await?;
    store(db, user, kind, "", now).await
}

/// Counts a wrong attempt on a token; the last one revokes it. The user's row must be locked, so
/// that concurrent attempts are all counted.
pub(crate) async fn count_wrong(
    db: &mut impl Queries,
    user: Uuid,
    kind: TokenKind,
    stored: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    match after_wrong(stored) {
        Some(counted) => store(db, user, kind, &counted, now).await,
        None => revoke(db, user, kind, now).await,
    }
}

/// Stores the hash of digits that are about to be sent, and when.
pub(crate) async fn set_sent(
    db: &mut impl Queries,
    user: Uuid,
    kind: TokenKind,
    hash: &str,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    let columns = match kind {
        TokenKind::Confirmation => "confirmation_token = $1, confirmation_sent_at = $2",
        TokenKind::Recovery => "recovery_token = $1, recovery_sent_at = $2",
        TokenKind::Reauthentication => "reauthentication_token = $1, reauthentication_sent_at = $2",
        TokenKind::EmailChangeNew => "email_change_token_new = $1, email_change_sent_at = $2",
        TokenKind::EmailChangeCurrent => {
            "email_change_token_current = $1, email_change_sent_at = $2"
        }
        TokenKind::PhoneChange => "phone_change_token = $1, phone_change_sent_at = $2",
    };
    let values: Params<'_> = &[&hash, &now];
    users::update(db, user, now, columns, values).await
}

async fn store(
    db: &mut impl Queries,
    user: Uuid,
    kind: TokenKind,
    value: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let column = match kind {
        TokenKind::Confirmation => "confirmation_token = $1",
        TokenKind::Recovery => "recovery_token = $1",
        TokenKind::Reauthentication => "reauthentication_token = $1",
        TokenKind::EmailChangeNew => "email_change_token_new = $1",
        TokenKind::EmailChangeCurrent => "email_change_token_current = $1",
        TokenKind::PhoneChange => "phone_change_token = $1",
    };
    users::update(db, user, now, column, &[&value]).await?;
    Ok(())
}

/// Deletes the rows of all of the user's tokens.
pub(crate) async fn delete_all(db: &mut impl Queries, user: Uuid) -> Result<(), DbError> {
    let sql = "delete from auth.one_time_tokens where user_id = $1";
    db.execute(sql, &[&user]).await?;
    Ok(())
}

/// Revokes all tokens of the user, in both places.
pub(crate) async fn clear_all(
    db: &mut impl Queries,
    user: Uuid,
    now: OffsetDateTime,
) -> Result<User, DbError> {
    delete_all(db, user).await?;
    let columns = "confirmation_token = '', recovery_token = '', email_change_token_new = '',
                   email_change_token_current = '', phone_change_token = '',
                   reauthentication_token = ''";
    users::update(db, user, now, columns, &[]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_address_and_digits() {
        let stored = hash("ann@mail.dev", "123456");

        assert_eq!(stored.len(), 56);
        assert!(is_hash_of(&stored, "ann@mail.dev", "123456"));
        assert!(is_hash_of(
            &format!("pkce_{stored}"),
            "ann@mail.dev",
            "123456"
        ));
        assert!(!is_hash_of(&stored, "ann@mail.dev", "123457"));
        assert!(!is_hash_of(&stored, "eve@mail.dev", "123456"));
        assert!(!is_hash_of("", "ann@mail.dev", "123456"));
    }

    #[test]
    fn wrong_digits_are_counted_behind_the_hash_until_the_tenth() {
        let mut stored = format!("pkce_{}", hash("ann@mail.dev", "123456"));
        for number in 1..10 {
            stored = after_wrong(&stored).expect("nine are forgiven");
            assert!(stored.ends_with(&format!("~{number}")), "{stored}");
            assert!(is_hash_of(&stored, "ann@mail.dev", "123456"));
        }
        assert_eq!(after_wrong(&stored), None);
        assert_eq!(after_wrong("hash~nonsense"), None);
    }
}
