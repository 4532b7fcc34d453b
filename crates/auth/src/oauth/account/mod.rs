//! From a person at a provider to an account here (auth contract §5).
//!
//! `decision` says whose account it is, `enter` makes it so, `email` settles which address the
//! account has. `link`, `invite` and `unlink` are for those who know whose it is.

mod decision;
mod email;
mod enter;
mod invite;
mod link;
pub(crate) mod unlink;

use plinth_db::{DbError, Queries};
use serde_json::{Value, json};

use super::providers::Profile;
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    model::{Identity, User, identities, users},
    request::Context,
};

pub(super) use enter::{announce, enter};
pub(super) use invite::{accept, find_invited};
pub(super) use link::link;

/// Somebody who came through a provider.
pub(super) struct Visitor<'a> {
    pub(super) provider: &'a str,
    pub(super) profile: &'a Profile,
    /// Whether an account without any address will do.
    pub(super) is_email_optional: bool,
}

/// What their coming led to.
pub(super) struct Entry {
    pub(super) user: User,
    /// Whether the account is new.
    pub(super) is_new: bool,
    /// Why they are not let in all the same. What was done stays done.
    pub(super) refusal: Option<AuthError>,
}

impl Entry {
    fn of(user: User) -> Self {
        Self {
            user,
            is_new: false,
            refusal: None,
        }
    }
}

/// Adds the identity; somebody may have been faster.
async fn add_identity(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    visitor: &Visitor<'_>,
) -> Result<Identity, AuthError> {
    let profile = visitor.profile;
    let added = identities::insert(
        db,
        user.id,
        visitor.provider,
        &profile.subject,
        profile.identity_data(),
        context.now,
    );
    added.await.map_err(|error| match is_known(&error) {
        true => already_linked("Identity is already linked to another user"),
        false => AuthError::database("Error creating identity", error),
    })
}

/// Whether this person's identity is there already.
fn is_known(error: &DbError) -> bool {
    error.refusal().is_some_and(|refusal| {
        refusal.constraint.as_deref() == Some("identities_provider_id_provider_unique")
    })
}

fn already_linked(text: &'static str) -> AuthError {
    AuthError::new(422, Code::IdentityAlreadyExists, text)
}

/// What the provider says, on top of what the account says of itself.
async fn merge_metadata(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    profile: &Profile,
) -> Result<User, DbError> {
    let mut metadata = user.user_metadata.clone();
    users::merge(&mut metadata, &profile.identity_data());
    let metadata = Value::Object(metadata);
    let column = "raw_user_meta_data = $1";
    users::update(db, user.id, context.now, column, &[&metadata]).await
}

async fn audit_identity(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    action: Action,
    identity: &Identity,
) -> Result<(), AuthError> {
    let traits = json!({
        "identity_id": identity.id,
        "provider": identity.provider,
        "provider_id": identity.provider_id,
    });
    audit::write(context, db, user, action, traits).await
}

fn check_banned(context: &Context, user: &User) -> Result<(), AuthError> {
    match user.is_banned(context.now) {
        true => Err(AuthError::new(403, Code::UserBanned, "User is banned")),
        false => Ok(()),
    }
}
