//! Accounts that begin with an address which still has to be confirmed, for invitations and
//! generated links.

use plinth_project::ServiceTransaction;
use time::OffsetDateTime;

use super::{
    conflict,
    contact_identity::{self, Contact},
};
use crate::{
    AuthError,
    model::{NewUser, Object, TokenKind, User, UserBody, one_time, users},
    random,
    request::Context,
};

/// The row that is to be. An empty hash means that nobody can sign in with a password yet.
pub(super) fn new_user(
    context: &Context,
    email: &str,
    encrypted_password: String,
    data: Object,
) -> NewUser {
    let mut app_metadata = Object::new();
    app_metadata.insert("provider".to_owned(), "email".into());
    app_metadata.insert("providers".to_owned(), vec!["email"].into());
    NewUser {
        id: random::uuid(),
        aud: context.audience().to_owned(),
        role: context.config.jwt.default_role.clone(),
        email: email.to_owned(),
        phone: String::new(),
        encrypted_password,
        app_metadata,
        user_metadata: data,
        is_anonymous: false,
        is_sso_user: false,
    }
}

/// What the hook that may refuse a user gets to see.
pub(super) fn preview(new: &NewUser, now: OffsetDateTime) -> UserBody {
    UserBody {
        id: new.id,
        aud: new.aud.clone(),
        role: new.role.clone(),
        email: new.email.clone(),
        email_confirmed_at: None,
        invited_at: None,
        phone: new.phone.clone(),
        phone_confirmed_at: None,
        confirmation_sent_at: None,
        confirmed_at: None,
        recovery_sent_at: None,
        new_email: String::new(),
        email_change_sent_at: None,
        new_phone: String::new(),
        phone_change_sent_at: None,
        reauthentication_sent_at: None,
        last_sign_in_at: None,
        app_metadata: new.app_metadata.clone(),
        user_metadata: new.user_metadata.clone(),
        factors: Vec::new(),
        identities: Some(Vec::new()),
        created_at: now,
        updated_at: now,
        banned_until: None,
        deleted_at: None,
        is_anonymous: new.is_anonymous,
    }
}

/// The user and the identity of their address.
pub(super) async fn insert(
    context: &Context,
    db: &mut ServiceTransaction,
    new: NewUser,
) -> Result<User, AuthError> {
    let inserted = users::insert(db, new, context.now).await;
    let user =
        inserted.map_err(|error| conflict::or_taken("Database error saving new user", error))?;
    let email = &user.email;
    contact_identity::insert(db, user.id, Contact::Email, email, false, context.now).await?;
    Ok(user)
}

/// Digits for `address`, and the hash that stands for them.
pub(super) struct Otp {
    pub(super) digits: String,
    pub(super) hash: String,
}

impl Otp {
    pub(super) fn new(context: &Context, address: &str) -> Self {
        let digits = random::digits(context.config.mail.otp_length);
        let hash = one_time::hash(address, &digits);
        Self { digits, hash }
    }
}

/// Makes an otp the one that confirms the user; `invites` also marks them as invited.
pub(super) async fn put_confirmation(
    context: &Context,
    db: &mut ServiceTransaction,
    user: &User,
    otp: &Otp,
    invites: bool,
) -> Result<User, AuthError> {
    let now = context.now;
    let kind = TokenKind::Confirmation;
    one_time::put(db, user.id, kind, &user.email, &otp.hash, now).await?;
    let columns = "confirmation_token = $1, confirmation_sent_at = $2,
                   invited_at = case when $3 then $2 else invited_at end";
    Ok(users::update(db, user.id, now, columns, &[&otp.hash, &now, &invites]).await?)
}
