//! From a provider's user to a user of the project (auth contract §5).
//!
//! `decision` finds the user, `sign_in` signs in or up, `email` settles the user's address. `link`,
//! `invite` and `unlink` are for known users.

mod decision;
mod email;
mod invite;
mod link;
mod sign_in;
pub(crate) mod unlink;

use plinth_db::{DbError, Queries};
use serde_json::json;

use super::providers::Profile;
use crate::{
    AuthError,
    audit::{self, Action},
    model::{Conflict, Identity, User, identities, users},
    request::RequestContext,
};

pub(super) use invite::{accept, find_invited};
pub(super) use link::link;
pub(super) use sign_in::{run_before_created_hook, sign_in_or_up};

/// A user of a provider who signs in.
pub(super) struct ProviderUser<'a> {
    pub(super) provider: &'a str,
    pub(super) profile: &'a Profile,
    /// Whether the user needs no address.
    pub(super) is_email_optional: bool,
}

/// The result of a sign-in.
pub(super) struct SignInOutcome {
    pub(super) user: User,
    /// Whether the user was created.
    pub(super) is_new: bool,
    /// Why there is no session. Changes are committed all the same.
    pub(super) rejection: Option<AuthError>,
}

impl SignInOutcome {
    fn for_user(user: User) -> Self {
        Self {
            user,
            is_new: false,
            rejection: None,
        }
    }
}

/// Inserts the identity; another request may have been faster.
async fn add_identity(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    provider_user: &ProviderUser<'_>,
) -> Result<Identity, AuthError> {
    let profile = provider_user.profile;
    let added = identities::insert(
        db,
        user.id,
        provider_user.provider,
        &profile.subject,
        profile.identity_data(),
        context.now,
    );
    added.await.map_err(|error| {
        if Conflict::find(&error) == Some(Conflict::Identity) {
            AuthError::identity_linked_to_another_user()
        } else {
            AuthError::creating_identity_failed(error)
        }
    })
}

/// Merges the provider's claims into `user_metadata`.
async fn merge_metadata(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    profile: &Profile,
) -> Result<User, DbError> {
    let mut metadata = user.user_metadata.clone();
    users::merge(&mut metadata, &profile.identity_data());
    users::set_user_metadata(db, user.id, metadata, context.now).await
}

async fn audit_identity(
    context: &RequestContext,
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

fn check_banned(context: &RequestContext, user: &User) -> Result<(), AuthError> {
    if user.is_banned(context.now) {
        Err(AuthError::user_banned())
    } else {
        Ok(())
    }
}
