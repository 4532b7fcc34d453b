//! Whether a token is right: whose it is, whether it is the newest, and young enough.

use plinth_db::Queries;
use plinth_project::ServiceTransaction;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Proven, expired_code, expired_link};
use crate::{
    AuthError,
    error::Code,
    model::{TokenKind, User, one_time, users},
    request::{Context, contact::Contact},
    sms,
};

/// `type` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    SignUp,
    Invite,
    Recovery,
    MagicLink,
    /// Whichever of sign-up and magic link it is.
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

    /// Tokens that serve it, the first one that is right counts.
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

/// What the user's row says of a token.
struct Stored<'a> {
    hash: &'a str,
    sent_at: Option<OffsetDateTime>,
    /// Where it was sent.
    address: &'a str,
}

fn stored<'a>(user: &'a User, kind: TokenKind, is_by_phone: bool) -> Stored<'a> {
    let own = match is_by_phone {
        true => user.phone.as_str(),
        false => user.email.as_str(),
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

/// What a link carries.
pub(super) async fn check_hash(
    context: &Context,
    tx: &mut ServiceTransaction,
    purpose: Purpose,
    hash: &str,
) -> Result<Proven, AuthError> {
    let found = one_time::lock_by_link(tx, hash, purpose.kinds()).await?;
    let (user, kind) = found.ok_or_else(expired_link)?;
    check_banned(context, &user)?;
    let is_right = is_usable(context, &stored(&user, kind, false), false);
    match is_right {
        true => Ok(Proven {
            user,
            kind,
            purpose,
        }),
        false => Err(expired_link()),
    }
}

/// Digits that somebody typed. `None`: they are wrong, and what follows from that must be kept.
pub(super) async fn check_code(
    context: &Context,
    tx: &mut ServiceTransaction,
    purpose: Purpose,
    contact: &Contact,
    otp: &str,
) -> Result<Option<Proven>, AuthError> {
    let found = find_user(context, tx, purpose, contact, otp).await?;
    let user_id = found.ok_or_else(expired_code)?;
    let user = users::lock(tx, user_id).await?.ok_or_else(expired_code)?;
    check_banned(context, &user)?;
    for kind in purpose.kinds() {
        if is_code_right(context, tx, &user, *kind, contact, otp).await? {
            let kind = *kind;
            return Ok(Some(Proven {
                user,
                kind,
                purpose,
            }));
        }
    }
    Ok(None)
}

async fn is_code_right(
    context: &Context,
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
    compare(context, tx, user.id, kind, &token, otp).await
}

/// Compares digits, and counts wrong ones, which in the end make the token void. The user's row is
/// locked.
async fn compare(
    context: &Context,
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

/// Whether these are the digits of the user's reauthentication; the token is the caller's to
/// clear. Wrong ones are counted at once, whatever becomes of the request.
pub(crate) async fn is_nonce_right(
    context: &Context,
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
    // Others may have shown wrong ones meanwhile.
    let Some(user) = users::lock(&mut tx, user.id).await? else {
        return Ok(false);
    };
    let token = stored(&user, kind, is_by_phone);
    let is_right = is_usable(context, &token, is_by_phone)
        && compare(context, &mut tx, user.id, kind, &token, nonce).await?;
    tx.commit().await?;
    Ok(is_right)
}

/// Whether there is a token, and it is young enough.
fn is_usable(context: &Context, token: &Stored<'_>, is_by_phone: bool) -> bool {
    let lifetime = match is_by_phone {
        true => context.config.sms.otp_lifetime,
        false => context.config.mail.otp_lifetime,
    };
    let is_young = |sent| context.now < sent + lifetime;
    !token.hash.is_empty() && token.sent_at.is_some_and(is_young)
}

/// Who may hold the code that was sent to this address or number.
async fn find_user(
    context: &Context,
    db: &mut impl Queries,
    purpose: Purpose,
    contact: &Contact,
    otp: &str,
) -> Result<Option<Uuid>, AuthError> {
    let audience = context.audience();
    let found = match (purpose, contact) {
        // The address is not theirs yet.
        (Purpose::EmailChange | Purpose::PhoneChange, _) => {
            let kinds = purpose.kinds();
            return Ok(one_time::find_sent_to(db, contact.as_str(), otp, kinds).await?);
        }
        (_, Contact::Email(email)) => users::find_by_email(db, email, audience).await?,
        (_, Contact::Phone(phone)) => users::find_by_phone(db, phone, audience).await?,
    };
    Ok(found.map(|user| user.id))
}

fn check_banned(context: &Context, user: &User) -> Result<(), AuthError> {
    match user.is_banned(context.now) {
        true => Err(AuthError::new(403, Code::UserBanned, "User is banned")),
        false => Ok(()),
    }
}
