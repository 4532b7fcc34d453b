//! Creating and confirming accounts, shared by the endpoints that do so.

use plinth_db::{DbError, Queries};
use serde_json::json;
use time::OffsetDateTime;

use crate::{
    AuthError,
    audit::{self, Action},
    contact::Contact,
    hooks,
    model::{Conflict, NewUser, Object, User, UserBody, identities, users},
    request::RequestContext,
};

/// Whether the data of the first identity is copied to `user_metadata` (§2.2), as it is where users
/// sign up themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metadata {
    OfIdentity,
    AsGiven,
}

/// The maximum size of `user_metadata` as JSON. Every access token carries all of it and has to fit
/// into a header.
const MAX_METADATA_BYTES: usize = 32 * 1024;

/// Rejects metadata that is too large, unless it shrinks.
pub(crate) fn check_metadata(before: &Object, after: &Object) -> Result<(), AuthError> {
    let bytes = |data: &Object| serde_json::to_string(data).map_or(usize::MAX, |text| text.len());
    let size = bytes(after);
    if size > MAX_METADATA_BYTES && size > bytes(before) {
        Err(AuthError::validation_failed(
            "user_metadata cannot be larger than 32 KiB",
        ))
    } else {
        Ok(())
    }
}

/// A new account with one address or number.
pub(crate) fn new_user(
    context: &RequestContext,
    contact: &Contact,
    password_hash: String,
    data: Object,
) -> NewUser {
    let provider = contact.provider();
    NewUser {
        id: crate::random::uuid(),
        aud: context.new_audience().to_owned(),
        role: context.config.jwt.default_role.clone(),
        email: contact.email().to_owned(),
        phone: contact.phone().to_owned(),
        encrypted_password: password_hash,
        app_metadata: provider_metadata(provider),
        user_metadata: data,
        is_anonymous: false,
        is_sso_user: false,
    }
}

/// `{"provider": …, "providers": […]}`
pub(crate) fn provider_metadata(provider: &str) -> Object {
    let mut metadata = Object::new();
    metadata.insert("provider".to_owned(), provider.into());
    metadata.insert("providers".to_owned(), json!([provider]));
    metadata
}

/// Calls the before-user-created hook, which may reject the account. Not inside a transaction.
pub(crate) async fn run_before_created_hook(
    context: &RequestContext,
    new: &NewUser,
) -> Result<(), AuthError> {
    hooks::before_user_created(context, &preview(new, context.now)).await
}

/// Calls the after-user-created hook. Not inside a transaction.
pub(crate) async fn run_after_created_hook(
    context: &RequestContext,
    user: &UserBody,
) -> Result<(), AuthError> {
    hooks::after_user_created(context, user).await
}

/// The body of an account that is not stored yet.
pub(crate) fn preview(new: &NewUser, now: OffsetDateTime) -> UserBody {
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

/// Inserts the account and its first identity.
pub(crate) async fn create(
    context: &RequestContext,
    db: &mut impl Queries,
    new: NewUser,
    contact: &Contact,
    metadata: Metadata,
) -> Result<User, DbError> {
    let now = context.now;
    let data = new.user_metadata.clone();
    let user = users::insert(db, new, now).await?;
    let said = match metadata {
        Metadata::OfIdentity => data,
        Metadata::AsGiven => Object::new(),
    };
    let said = identity_data(&user, contact, said);
    let mut own = said.clone();
    if matches!(contact, Contact::Phone(_)) {
        // The column `email` is derived from it, and any user can write an address here.
        own.remove("email");
    }
    add_identity(db, &user, contact, own, now).await?;
    match metadata {
        Metadata::OfIdentity => users::set_user_metadata(db, user.id, said, now).await,
        Metadata::AsGiven => Ok(user),
    }
}

/// The data of an `email` or `phone` identity, on top of `data`.
fn identity_data(user: &User, contact: &Contact, data: Object) -> Object {
    let mut said = data;
    said.insert("sub".to_owned(), user.id.to_string().into());
    said.insert(contact.provider().to_owned(), contact.as_str().into());
    said.insert("email_verified".to_owned(), false.into());
    said.insert("phone_verified".to_owned(), false.into());
    said
}

async fn add_identity(
    db: &mut impl Queries,
    user: &User,
    contact: &Contact,
    data: Object,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let id = user.id.to_string();
    identities::insert(db, user.id, contact.provider(), &id, data, now).await?;
    Ok(())
}

/// Updates the identity of an address or number, or adds it.
pub(crate) async fn upsert_identity(
    db: &mut impl Queries,
    user: &User,
    contact: &Contact,
    is_verified: bool,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let provider = contact.provider();
    let mut changes = Object::new();
    changes.insert(provider.to_owned(), contact.as_str().into());
    changes.insert(format!("{provider}_verified"), is_verified.into());
    let id = user.id.to_string();
    match identities::find(db, provider, &id).await? {
        Some(identity) => identities::merge_data(db, &identity, &changes, now).await,
        None => {
            let mut data = identity_data(user, contact, Object::new());
            users::merge(&mut data, &changes);
            add_identity(db, user, contact, data, now).await
        }
    }
}

/// Confirms the address: in the row, in its identities and in the metadata.
pub(crate) async fn confirm_email(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, DbError> {
    let now = context.now;
    identities::verify_email(db, user.id, &user.email, now).await?;
    let mut metadata = users::confirm_email(db, user.id, now).await?.user_metadata;
    metadata.insert("email_verified".to_owned(), true.into());
    users::set_user_metadata(db, user.id, metadata, now).await
}

/// Confirms the number: in the row, in its identity and, where it is mentioned, in the metadata.
pub(crate) async fn confirm_phone(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, DbError> {
    let now = context.now;
    identities::verify_phone(db, user.id, now).await?;
    let mut confirmed = users::confirm_phone(db, user.id, now).await?;
    if let Some(claim) = confirmed.user_metadata.get_mut("phone_verified") {
        *claim = true.into();
        let metadata = confirmed.user_metadata;
        confirmed = users::set_user_metadata(db, user.id, metadata, now).await?;
    }
    Ok(confirmed)
}

/// The user who has this address or number: through an identity of the default linking domain, or
/// in their own row.
pub(crate) async fn find_by_contact(
    context: &RequestContext,
    db: &mut impl Queries,
    contact: &Contact,
) -> Result<Option<User>, DbError> {
    let audience = context.new_audience();
    match contact {
        Contact::Phone(phone) => users::find_by_phone(db, phone, audience).await,
        Contact::Email(email) => {
            let apart = context.config.external.linking.separate_domains();
            match users::find_by_identity(db, email, audience, &apart).await? {
                Some(user) => Ok(Some(user)),
                None => users::find_by_email(db, email, audience).await,
            }
        }
    }
}

/// Writes to the audit log that the user signed up with `provider`.
pub(crate) async fn audit_sign_up(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    provider: &str,
) -> Result<(), AuthError> {
    let traits = json!({ "provider": provider });
    audit::write(context, db, user, Action::UserSignedUp, traits).await
}

/// Whether a statement failed because another user has the address or number by now.
pub(crate) fn is_taken(error: &DbError) -> bool {
    matches!(
        Conflict::find(error),
        Some(Conflict::UserEmail | Conflict::UserPhone)
    )
}
