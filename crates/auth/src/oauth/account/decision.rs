//! Whose account a person at a provider means (auth contract §5.1).

use plinth_db::{DbError, Queries};
use uuid::Uuid;

use super::Visitor;
use crate::{
    AuthError,
    model::{Identity, User, identities, users},
    request::Context,
};

/// What is to be done with somebody who came.
pub(super) enum Decision {
    /// They have been here before.
    SignIn { identity: Identity, user: User },
    /// An account of theirs is here, which they came to in another way.
    Link(User),
    /// A new account, with this address or none.
    Create { email: String },
}

/// Decides. Locks the account that it finds.
pub(super) async fn decide(
    context: &Context,
    db: &mut impl Queries,
    visitor: &Visitor<'_>,
) -> Result<Decision, AuthError> {
    let profile = visitor.profile;
    let known = identities::find(db, visitor.provider, &profile.subject).await?;
    if let Some(identity) = known {
        let user = lock(db, identity.user_id).await?;
        return Ok(Decision::SignIn { identity, user });
    }
    let is_autoconfirmed = context.config.mail.is_autoconfirmed;
    let vouched: Vec<&str> = profile
        .emails
        .iter()
        .filter(|email| email.is_verified || is_autoconfirmed)
        .map(|email| email.address.as_str())
        .collect();
    match find_owner(context, db, visitor.provider, &vouched).await? {
        Some(owner) => Ok(Decision::Link(lock(db, owner).await?)),
        None => Ok(Decision::Create {
            email: free_email(context, db, visitor, &vouched).await?,
        }),
    }
}

/// The one account that these addresses belong to.
async fn find_owner(
    context: &Context,
    db: &mut impl Queries,
    provider: &str,
    vouched: &[&str],
) -> Result<Option<Uuid>, AuthError> {
    if vouched.is_empty() {
        return Ok(None);
    }
    let domain = context.config.external.linking.of(provider);
    let mut owners = owners_by_identity(context, db, domain, vouched).await?;
    if owners.is_empty() && domain == "default" {
        for email in vouched {
            let found = users::find_by_email(db, email, context.audience()).await?;
            owners.extend(found.map(|user| user.id));
        }
    }
    owners.sort_unstable();
    owners.dedup();
    match owners[..] {
        [] => Ok(None),
        [owner] => Ok(Some(owner)),
        _ => {
            let text = format!(
                "Multiple accounts with the same email address in the same linking domain \
                 detected: {domain}"
            );
            Err(AuthError::internal(
                text,
                "several accounts share an address",
            ))
        }
    }
}

/// Accounts with an identity of this linking domain and one of these addresses.
async fn owners_by_identity(
    context: &Context,
    db: &mut impl Queries,
    domain: &str,
    emails: &[&str],
) -> Result<Vec<Uuid>, DbError> {
    let sql = format!(
        "select distinct i.provider, i.user_id
         from auth.identities i
         join auth.users u on u.id = i.user_id
         where i.email = any ($1) and {}",
        identities::SPEAKS_FOR_ADDRESS
    );
    let linking = &context.config.external.linking;
    let mut owners = Vec::new();
    for row in db.query(&sql, &[&emails]).await? {
        let provider: String = row.try_get("provider")?;
        if linking.of(&provider) == domain {
            owners.push(row.try_get("user_id")?);
        }
    }
    Ok(owners)
}

/// The address that a new account gets: not one that is somebody else's, unless the provider
/// vouches for it.
async fn free_email(
    context: &Context,
    db: &mut impl Queries,
    visitor: &Visitor<'_>,
    vouched: &[&str],
) -> Result<String, DbError> {
    let Some(email) = visitor.profile.email() else {
        return Ok(String::new());
    };
    let address = email.address.as_str();
    let is_free = vouched.contains(&address)
        || !users::is_email_taken(db, address, context.audience(), None).await?;
    Ok(match is_free {
        true => address.to_owned(),
        false => String::new(),
    })
}

async fn lock(db: &mut impl Queries, id: Uuid) -> Result<User, AuthError> {
    let user = users::lock(db, id).await?;
    user.ok_or_else(|| {
        AuthError::internal("Unexpected failure", "an account ended during a sign-in")
    })
}
