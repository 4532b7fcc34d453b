//! Which user a provider's user is (auth contract §5.1).

use plinth_db::{DbError, Queries};
use uuid::Uuid;

use super::ProviderUser;
use crate::{
    AuthError,
    model::{Identity, User, identities, users},
    request::RequestContext,
};

/// What to do with a provider's user.
pub(super) enum Decision {
    /// The identity is known.
    SignIn { identity: Identity, user: User },
    /// The user exists, with other identities.
    Link(User),
    /// With this address or none.
    Create { email: String },
}

/// Decides, and locks the user that it finds.
pub(super) async fn decide(
    context: &RequestContext,
    db: &mut impl Queries,
    provider_user: &ProviderUser<'_>,
) -> Result<Decision, AuthError> {
    let profile = provider_user.profile;
    let known = identities::find(db, provider_user.provider, &profile.subject).await?;
    if let Some(identity) = known {
        let user = lock(db, identity.user_id).await?;
        return Ok(Decision::SignIn { identity, user });
    }
    let is_autoconfirmed = context.config.mail.is_autoconfirmed;
    let verified: Vec<&str> = profile
        .emails
        .iter()
        .filter(|email| email.is_verified || is_autoconfirmed)
        .map(|email| email.address.as_str())
        .collect();
    match find_owner(context, db, provider_user.provider, &verified).await? {
        Some(owner) => Ok(Decision::Link(lock(db, owner).await?)),
        None => Ok(Decision::Create {
            email: free_email(context, db, provider_user, &verified).await?,
        }),
    }
}

/// The one user who has these addresses.
async fn find_owner(
    context: &RequestContext,
    db: &mut impl Queries,
    provider: &str,
    verified: &[&str],
) -> Result<Option<Uuid>, AuthError> {
    if verified.is_empty() {
        return Ok(None);
    }
    let domain = context.config.external.linking.domain_of(provider);
    let mut owners = owners_by_identity(context, db, domain, verified).await?;
    if owners.is_empty() && domain == "default" {
        for email in verified {
            let found = users::find_by_email(db, email, context.audience()).await?;
            owners.extend(found.map(|user| user.id));
        }
    }
    owners.sort_unstable();
    owners.dedup();
    match owners[..] {
        [] => Ok(None),
        [owner] => Ok(Some(owner)),
        _ => Err(AuthError::several_accounts_share_address(domain)),
    }
}

/// Users with an identity of this linking domain and one of these addresses.
async fn owners_by_identity(
    context: &RequestContext,
    db: &mut impl Queries,
    domain: &str,
    emails: &[&str],
) -> Result<Vec<Uuid>, DbError> {
    let linking = &context.config.external.linking;
    let owners = identities::list_owners(db, emails).await?.into_iter();
    let owners = owners.filter(|(provider, _)| linking.domain_of(provider) == domain);
    Ok(owners.map(|(_, user)| user).collect())
}

/// The address of the new user: not one that another user has, unless the provider has verified it.
async fn free_email(
    context: &RequestContext,
    db: &mut impl Queries,
    provider_user: &ProviderUser<'_>,
    verified: &[&str],
) -> Result<String, DbError> {
    let Some(email) = provider_user.profile.email() else {
        return Ok(String::new());
    };
    let address = email.address.as_str();
    let is_free = verified.contains(&address)
        || !users::is_email_taken(db, address, context.audience(), None).await?;
    Ok(if is_free {
        address.to_owned()
    } else {
        String::new()
    })
}

async fn lock(db: &mut impl Queries, id: Uuid) -> Result<User, AuthError> {
    let user = users::lock(db, id).await?;
    user.ok_or_else(|| AuthError::unexpected("the user was deleted during the sign-in"))
}
