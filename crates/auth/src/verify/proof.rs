//! Verification of one-time tokens: owner, match and age.

use plinth_db::Queries;
use plinth_project::ServiceTransaction;
use time::OffsetDateTime;
use uuid::Uuid;

use super::VerifiedToken;
use crate::{
    AuthError,
    contact::Contact,
    model::{TokenKind, User, one_time, users},
    request::RequestContext,
    sms,
};

/// `type` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    SignUp,
    Invite,
    Recovery,
    MagicLink,
    /// Sign-up or magic link.
    Email,
    EmailChange,
    Sms,
    PhoneChange,
}

impl Purpose {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "signup" => Self::SignUp,
            "invite" => Self::Invite,
            "recovery" => Self::Recovery,
            "magiclink" => Self::MagicLink,
            "email" => Self::Email,
            "email_change" => Self::EmailChange,
            "sms" => Self::Sms,
            "phone_change" => Self::PhoneChange,
            _ => return None,
        })
    }

    pub(super) fn is_by_phone(self) -> bool {
        matches!(self, Self::Sms | Self::PhoneChange)
    }

    /// The kinds of tokens to try, in order.
    fn kinds(self) -> &'static [TokenKind] {
        match self {
            Self::SignUp | Self::Invite | Self::Sms => &[TokenKind::Confirmation],
            Self::Recovery | Self::MagicLink => &[TokenKind::Recovery],
            Self::Email => &[TokenKind::Confirmation, TokenKind::Recovery],
            Self::EmailChange => &[TokenKind::EmailChangeCurrent, TokenKind::EmailChangeNew],
            Self::PhoneChange => &[TokenKind::PhoneChange],
        }
    }
}

/// A token in the user's row.
struct Stored<'a> {
    hash: &'a str,
    sent_at: Option<OffsetDateTime>,
    /// The address or number it was sent to.
    address: &'a str,
}

fn stored<'a>(user: &'a User, kind: TokenKind, is_by_phone: bool) -> Stored<'a> {
    let own = if is_by_phone {
        user.phone.as_str()
    } else {
        user.email.as_str()
    };
    let (hash, sent_at, address) = match kind {
        TokenKind::Confirmation => (&user.confirmation_token, user.confirmation_sent_at, own),
        TokenKind::Recovery => (&user.recovery_token, user.recovery_sent_at, own),
        TokenKind::Reauthentication => (
            &user.reauthentication_token,
            user.reauthentication_sent_at,
            own,
        ),
        TokenKind::EmailChangeCurrent => (
            &user.email_change_token_current,
            user.email_change_sent_at,
            own,
        ),
        TokenKind::EmailChangeNew => (
            &user.email_change_token_new,
            user.email_change_sent_at,
            user.email_change.as_str(),
        ),
        TokenKind::PhoneChange => (
            &user.phone_change_token,
            user.phone_change_sent_at,
            user.phone_change.as_str(),
        ),
    };
    Stored {
        hash,
        sent_at,
        address,
    }
}

/// Verifies the hash in a link.
pub(super) async fn check_hash(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    purpose: Purpose,
    hash: &str,
) -> Result<VerifiedToken, AuthError> {
    let found = one_time::lock_by_link(tx, hash, purpose.kinds()).await?;
    let (user, kind) = found.ok_or_else(AuthError::email_link_expired)?;
    check_banned(context, &user)?;
    let is_right = is_usable(context, &stored(&user, kind, false), false);
    if is_right {
        Ok(VerifiedToken {
            user,
            kind,
            purpose,
        })
    } else {
        Err(AuthError::email_link_expired())
    }
}

/// Verifies a code. `None` if it is wrong; the caller must commit the count.
pub(super) async fn check_code(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    purpose: Purpose,
    contact: &Contact,
    otp: &str,
) -> Result<Option<VerifiedToken>, AuthError> {
    let found = find_user(context, tx, purpose, contact, otp).await?;
    let user_id = found.ok_or_else(AuthError::otp_expired)?;
    let user = users::lock(tx, user_id)
        .await?
        .ok_or_else(AuthError::otp_expired)?;
    check_banned(context, &user)?;
    for kind in purpose.kinds() {
        if is_code_correct(context, tx, &user, *kind, contact, otp).await? {
            let kind = *kind;
            return Ok(Some(VerifiedToken {
                user,
                kind,
                purpose,
            }));
        }
    }
    Ok(None)
}

async fn is_code_correct(
    context: &RequestContext,
    tx: &mut ServiceTransaction,
    user: &User,
    kind: TokenKind,
    contact: &Contact,
    otp: &str,
) -> Result<bool, AuthError> {
    let is_by_phone = matches!(contact, Contact::Phone(_));
    let token = stored(user, kind, is_by_phone);
    if token.address != contact.as_str() {
        return Ok(false);
    }
    if let Contact::Phone(phone) = contact {
        let fixed = context.config.sms.test_numbers.code(phone, context.now);
        if fixed.is_some_and(|fixed| fixed == otp) {
            return Ok(true);
        }
        if let Some(is_right) = sms::check_at_provider(context, phone, otp).await? {
            return Ok(is_right);
        }
    }
    if !is_usable(context, &token, is_by_phone) {
        return Ok(false);
    }
    compare_code(context, tx, user.id, kind, &token, otp).await
}

/// Compares the code and counts wrong ones, which revoke the token in the end. The user's row is
/// locked.
async fn compare_code(
    context: &RequestContext,
    db: &mut impl Queries,
    user: Uuid,
    kind: TokenKind,
    token: &Stored<'_>,
    otp: &str,
) -> Result<bool, AuthError> {
    let is_right = one_time::is_hash_of(token.hash, token.address, otp);
    if !is_right {
        one_time::count_wrong(db, user, kind, token.hash, context.now).await?;
    }
    Ok(is_right)
}

/// Whether this is the user's reauthentication nonce; the caller clears the token. Wrong ones are
/// counted even if the request fails.
pub(crate) async fn is_nonce_correct(
    context: &RequestContext,
    user: &User,
    nonce: &str,
) -> Result<bool, AuthError> {
    let is_by_phone = user.email.is_empty();
    let token = stored(user, TokenKind::Reauthentication, is_by_phone);
    if !is_usable(context, &token, is_by_phone) {
        return Ok(false);
    }
    if is_by_phone
        && let Some(is_right) = sms::check_at_provider(context, token.address, nonce).await?
    {
        return Ok(is_right);
    }
    let kind = TokenKind::Reauthentication;
    let mut tx = context.begin().await?;
    // Concurrent requests may have counted wrong ones.
    let Some(user) = users::lock(&mut tx, user.id).await? else {
        return Ok(false);
    };
    let token = stored(&user, kind, is_by_phone);
    let is_right = is_usable(context, &token, is_by_phone)
        && compare_code(context, &mut tx, user.id, kind, &token, nonce).await?;
    tx.commit().await?;
    Ok(is_right)
}

/// Whether there is a token that has not expired.
fn is_usable(context: &RequestContext, token: &Stored<'_>, is_by_phone: bool) -> bool {
    let lifetime = if is_by_phone {
        context.config.sms.otp_lifetime
    } else {
        context.config.mail.otp_lifetime
    };
    let is_young = |sent| context.now < sent + lifetime;
    !token.hash.is_empty() && token.sent_at.is_some_and(is_young)
}

/// The user to whom the code was sent.
async fn find_user(
    context: &RequestContext,
    db: &mut impl Queries,
    purpose: Purpose,
    contact: &Contact,
    otp: &str,
) -> Result<Option<Uuid>, AuthError> {
    let audience = context.audience();
    let found = match (purpose, contact) {
        // The new address is not the user's yet.
        (Purpose::EmailChange | Purpose::PhoneChange, _) => {
            let kinds = purpose.kinds();
            return Ok(one_time::find_sent_to(db, contact.as_str(), otp, kinds).await?);
        }
        (_, Contact::Email(email)) => users::find_by_email(db, email, audience).await?,
        (_, Contact::Phone(phone)) => users::find_by_phone(db, phone, audience).await?,
    };
    Ok(found.map(|user| user.id))
}

fn check_banned(context: &RequestContext, user: &User) -> Result<(), AuthError> {
    if user.is_banned(context.now) {
        Err(AuthError::user_banned())
    } else {
        Ok(())
    }
}
