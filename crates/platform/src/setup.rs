//! The first-run set-up (console contract N20): the first owner, by a one-time link.
//!
//! Open only while the instance has no owner. Links are random, stored as hashes, valid for half an hour, and
//! all of them end with the set-up. Being on this machine proves nothing, since a reverse proxy is as well.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use moka::sync::Cache;
use plinth_token::{Secret, credential_hash, generate_password};
use time::OffsetDateTime;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use crate::{
    Platform, PlatformError,
    members::{MemberScope, Role, lock_members, set_role},
    projects::checked_name,
};

/// Failed attempts in a minute from one address. The token has more bits than anybody can guess, so this is
/// against load.
const MAX_FAILURES: u32 = 10;
const FAILURE_WINDOW: Duration = Duration::from_secs(60);
/// Addresses that are remembered.
const MAX_ADDRESSES: u64 = 10_000;

/// What the first owner chooses.
#[derive(Debug, Clone)]
pub struct SetupRequest {
    /// The text of the link's token.
    pub token: Secret,
    /// The owner's address.
    pub email: String,
    /// The owner's password.
    pub password: Secret,
    /// The name of the instance.
    pub instance: Option<String>,
}

/// A link to the set-up.
#[derive(Debug, Clone)]
pub struct SetupLink {
    /// Where to go; contains the token.
    pub url: Secret,
    /// When it ends.
    pub expires_at: OffsetDateTime,
}

/// Failed attempts of each address.
pub(crate) struct SetupFailures(Cache<Option<IpAddr>, Arc<AtomicU32>>);

impl Default for SetupFailures {
    fn default() -> Self {
        Self(
            Cache::builder()
                .max_capacity(MAX_ADDRESSES)
                .time_to_live(FAILURE_WINDOW)
                .build(),
        )
    }
}

impl SetupFailures {
    fn of(&self, address: Option<IpAddr>) -> Arc<AtomicU32> {
        self.0.get_with(address, Arc::default)
    }
}

impl Platform {
    /// Whether the instance has no owner who can sign in.
    pub async fn needs_setup(&self) -> Result<bool, PlatformError> {
        needs_setup(&*self.tables().await?).await
    }

    /// The name of the instance.
    pub async fn instance_name(&self) -> Result<String, PlatformError> {
        let sql = "select name from platform.instance";
        Ok(self.tables().await?.query_one(sql, &[]).await?.get(0))
    }

    /// A new link; earlier ones stay valid for their time, because other nodes may have printed them.
    pub async fn create_setup_link(&self) -> Result<SetupLink, PlatformError> {
        if !self.needs_setup().await? {
            return Err(PlatformError::SetupClosed);
        }
        let token = generate_password();
        let sql = "with ended as (delete from platform.setup_links where expires_at < now())
                   insert into platform.setup_links (hash, expires_at)
                   values ($1, now() + interval '30 minutes')
                   returning expires_at";
        let tables = self.tables().await?;
        let row = tables
            .query_one(sql, &[&credential_hash(token.expose())])
            .await?;
        // A fragment: it reaches no server and no log.
        let url = format!(
            "{}{}/setup#token={}",
            self.endpoints().api_url,
            plinth_project::CONSOLE,
            token.expose()
        );
        Ok(SetupLink {
            url: Secret::new(url),
            expires_at: row.get(0),
        })
    }

    /// Makes the first owner. Returns the user.
    pub async fn set_up(
        &self,
        request: &SetupRequest,
        client: Option<IpAddr>,
    ) -> Result<Uuid, PlatformError> {
        let failures = self.0.setup_failures.of(client);
        if failures.load(Ordering::Relaxed) >= MAX_FAILURES {
            return Err(PlatformError::RateLimited(MAX_FAILURES));
        }
        // Before a connection of its own and the lock: whoever guesses gets neither.
        let pooled = self.tables().await?;
        if !needs_setup(&*pooled).await? {
            return Err(PlatformError::SetupClosed);
        }
        if !is_live_token(&*pooled, &request.token).await? {
            failures.fetch_add(1, Ordering::Relaxed);
            return Err(not_valid());
        }
        drop(pooled);
        let mut client = self.admin().await?;
        let tables = client.transaction().await?;
        // Of two at once, the second finds an owner.
        lock_members(&tables).await?;
        if !needs_setup(&tables).await? {
            return Err(PlatformError::SetupClosed);
        }
        if !is_live_token(&tables, &request.token).await? {
            return Err(not_valid());
        }
        if let Some(name) = &request.instance {
            let name = checked_name(name)?;
            let sql = "update platform.instance set name = $1";
            tables.execute(sql, &[&name]).await?;
        }
        let user = self
            .create_owner_account(&request.email, &request.password)
            .await?;
        set_role(
            &tables,
            &MemberScope::Instance,
            user,
            Some(Role::Owner),
            "set-up",
        )
        .await?;
        tables
            .batch_execute(
                "update platform.instance set set_up_at = now(); delete from platform.setup_links;",
            )
            .await?;
        tables.commit().await?;
        Ok(user)
    }
}

fn not_valid() -> PlatformError {
    PlatformError::Forbidden(
        "This link is not valid (any more): `plinth admin setup-link` makes another one".to_owned(),
    )
}

async fn needs_setup(client: &impl GenericClient) -> Result<bool, PlatformError> {
    let sql = "select not exists (
                   select from platform.members m join auth.users u on u.id = m.user_id
                   where m.organization is null and m.project is null and m.role = 'owner'
                     and u.deleted_at is null)";
    Ok(client.query_one(sql, &[]).await?.get(0))
}

async fn is_live_token(client: &impl GenericClient, token: &Secret) -> Result<bool, PlatformError> {
    let given = Secret::new(credential_hash(token.expose()));
    let sql = "select hash from platform.setup_links where expires_at > now()";
    let rows = client.query(sql, &[]).await?;
    // Each comparison takes constant time, and none is left out.
    let matches = rows
        .iter()
        .filter(|row| Secret::new(row.get::<_, String>(0)) == given)
        .count();
    Ok(matches > 0)
}
