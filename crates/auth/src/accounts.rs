//! Accounts coming into being and being confirmed, whichever endpoint it happens through.

use plinth_db::{DbError, Queries};
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::{
    AuthError,
    audit::{self, Action},
    config::LinkingDomains,
    hooks,
    model::{NewUser, Object, User, UserBody, identities, users},
    request::{Context, contact::Contact},
};

/// Whether a new account's `user_metadata` becomes what its identity says (§2.2): where people
/// sign up themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metadata {
    OfIdentity,
    AsGiven,
}

/// The most that people may note about themselves, as JSON. Every access token carries all of it,
/// and has to fit into a header.
const MAX_METADATA_BYTES: usize = 32 * 1024;

/// Refuses metadata that is too large; who has more already may still take some away.
pub(crate) fn check_metadata(before: &Object, after: &Object) -> Result<(), AuthError> {
    let bytes = |data: &Object| serde_json::to_string(data).map_or(usize::MAX, |text| text.len());
    let size = bytes(after);
    match size > MAX_METADATA_BYTES && size > bytes(before) {
        true => Err(AuthError::invalid(
            "user_metadata cannot be larger than 32 KiB",
        )),
        false => Ok(()),
    }
}

/// An account to be, reachable at one address or number.
pub(crate) fn new_user(
    context: &Context,
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

/// Asks the user's own code whether the account may be. Not inside a transaction.
pub(crate) async fn ask_before(context: &Context, new: &NewUser) -> Result<(), AuthError> {
    hooks::before_user_created(context, &preview(new, context.now)).await
}

/// Tells the user's own code of an account that is stored.
pub(crate) async fn tell_after(context: &Context, user: &UserBody) -> Result<(), AuthError> {
    hooks::after_user_created(context, user).await
}

/// The account as it will be, for those who are asked before.
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

/// Stores the account and its first way in.
pub(crate) async fn create(
    context: &Context,
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
        // It would stand for the address, which anybody can write here.
        own.remove("email");
    }
    add_identity(db, &user, contact, own, now).await?;
    match metadata {
        Metadata::OfIdentity => {
            let said = Value::Object(said);
            users::update(db, user.id, now, "raw_user_meta_data = $1", &[&said]).await
        }
        Metadata::AsGiven => Ok(user),
    }
}

/// What an `email` or `phone` identity says; `data` fills what it leaves open.
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

/// Makes the identity of an address or number say what is true now; adds it where it is missing.
pub(crate) async fn put_identity(
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

/// The address is the user's: in the row, in what their identities say and in their metadata.
pub(crate) async fn confirm_email(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, DbError> {
    let now = context.now;
    let sql = "update auth.identities
               set identity_data = identity_data || '{\"email_verified\": true}', updated_at = $3
               where user_id = $1 and email = $2";
    db.execute(sql, &[&user.id, &user.email, &now]).await?;
    confirm(db, user, now, "email_confirmed_at = $1", "email_verified").await
}

/// The number is the user's.
pub(crate) async fn confirm_phone(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
) -> Result<User, DbError> {
    let now = context.now;
    let sql = "update auth.identities
               set identity_data = identity_data || '{\"phone_verified\": true}', updated_at = $2
               where user_id = $1 and provider = 'phone'";
    db.execute(sql, &[&user.id, &now]).await?;
    confirm(db, user, now, "phone_confirmed_at = $1", "phone_verified").await
}

async fn confirm(
    db: &mut impl Queries,
    user: &User,
    now: OffsetDateTime,
    column: &'static str,
    claim: &str,
) -> Result<User, DbError> {
    let mut confirmed = users::update(db, user.id, now, column, &[&now]).await?;
    // Only the address is told to accounts whose metadata did not speak of it before.
    if claim == "email_verified" || confirmed.user_metadata.contains_key(claim) {
        confirmed
            .user_metadata
            .insert(claim.to_owned(), true.into());
        let metadata = Value::Object(confirmed.user_metadata);
        let column = "raw_user_meta_data = $1";
        confirmed = users::update(db, user.id, now, column, &[&metadata]).await?;
    }
    Ok(confirmed)
}

/// Whose this address or number is already, for somebody who signs up with it: through an identity
/// that counts for everybody, or as their own.
pub(crate) async fn find_by_contact(
    context: &Context,
    db: &mut impl Queries,
    contact: &Contact,
) -> Result<Option<User>, DbError> {
    let audience = context.new_audience();
    match contact {
        Contact::Phone(phone) => users::find_by_phone(db, phone, audience).await,
        Contact::Email(email) => {
            let linking = &context.config.external.linking;
            match find_by_identity(db, email, audience, linking).await? {
                Some(user) => Ok(Some(user)),
                None => users::find_by_email(db, email, audience).await,
            }
        }
    }
}

async fn find_by_identity(
    db: &mut impl Queries,
    email: &str,
    audience: &str,
    linking: &LinkingDomains,
) -> Result<Option<User>, DbError> {
    let apart = linking.apart();
    let sql = format!(
        "select {} from auth.identities i
         join auth.users u on u.id = i.user_id
         where i.email = $1 and u.aud = $2 and not u.is_sso_user and {}
           and i.provider not like 'sso:%' and i.provider <> all ($3)
         order by i.created_at limit 1",
        users::COLUMNS,
        identities::SPEAKS_FOR_ADDRESS
    );
    let row = db.query_opt(&sql, &[&email, &audience, &apart]).await?;
    row.as_ref().map(User::from_row).transpose()
}

/// Writes that somebody signed up by `provider`.
pub(crate) async fn audit_sign_up(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    provider: &str,
) -> Result<(), AuthError> {
    let traits = json!({ "provider": provider });
    audit::write(context, db, user, Action::UserSignedUp, traits).await
}

/// Whether a statement failed because somebody else took the address or number meanwhile.
pub(crate) fn is_taken(error: &DbError) -> bool {
    error.refusal().is_some_and(|refusal| {
        let constraint = refusal.constraint.as_deref();
        refusal.sqlstate() == "23505"
            && matches!(
                constraint,
                Some("users_email_partial_key" | "users_phone_key")
            )
    })
}
