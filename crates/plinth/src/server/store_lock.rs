//! Nodes over one database keep their files in one place: a node does not join others that have
//! theirs elsewhere. Rows of objects would name bytes that only some nodes can find.
//!
//! Each node holds a shared advisory lock as long as it runs, whose second key says where its files
//! are. PostgreSQL releases it when the node ends, however it ends.

use std::time::Duration;

use plinth_db::{DbError, Target};
use plinth_settings::{Settings, keys::plinth_storage};
use plinth_token::credential_hash;
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, Kind, Outcome};

/// The first key of these locks.
const CLASS: i32 = 0x0070_6C66;
/// The second key of nodes with local files.
const LOCAL: i32 = 0;
/// How often the connection that holds the lock is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The keys that other nodes hold.
const OTHERS: &str = "
    select distinct objid::bigint::int from pg_catalog.pg_locks
    where locktype = 'advisory' and granted and objsubid = 2
        and database = (select oid from pg_catalog.pg_database where datname = current_database())
        and classid = $1::int::oid and objid <> $2::int::oid
";

/// Held by a node while it runs.
pub(super) struct StoreLock {
    target: Target,
    client: Client,
    key: i32,
}

impl StoreLock {
    /// An error if other nodes keep their files elsewhere.
    pub(super) async fn acquire(target: Target, settings: &Settings) -> Outcome<Self> {
        let key = key(settings);
        let target = target.application_name("plinth store lock");
        let (client, others) = lock(&target, key).await?;
        let Some(other) = others.first() else {
            return Ok(Self {
                target,
                client,
                key,
            });
        };
        let message = match (key, *other) {
            (LOCAL, _) => {
                "other nodes over this database keep files in an S3 store, and this one on its own disk"
            }
            (_, LOCAL) => {
                "other nodes over this database keep files on their own disks, and this one in an S3 store"
            }
            _ => "other nodes over this database keep files in another S3 store, bucket or prefix",
        };
        let failure = Failure::new(Kind::Conflict, message.to_owned());
        Err(failure.next_step("Give all nodes the same settings in [plinth.storage]."))
    }

    /// Holds the lock until the server stops; takes it again after the connection was lost.
    pub(super) async fn hold(mut self, shutdown: CancellationToken) {
        loop {
            let tick = tokio::time::sleep(CHECK_INTERVAL);
            if shutdown.run_until_cancelled(tick).await.is_none() {
                return;
            }
            if !self.client.is_closed() && self.client.batch_execute("select 1").await.is_ok() {
                continue;
            }
            match lock(&self.target, self.key).await {
                Ok((client, others)) => {
                    self.client = client;
                    if !others.is_empty() {
                        tracing::error!(
                            "other nodes over this database keep files elsewhere: stop them, or this one"
                        );
                    }
                }
                Err(error) => tracing::debug!("cannot take the lock of the blob store: {error}"),
            }
        }
    }
}

/// Takes the lock, and gives the keys of other nodes that differ.
async fn lock(target: &Target, key: i32) -> Result<(Client, Vec<i32>), DbError> {
    let client = target.connect().await?;
    let sql = "select pg_catalog.pg_advisory_lock_shared($1::int, $2::int)";
    client.execute(sql, &[&CLASS, &key]).await?;
    let rows = client.query(OTHERS, &[&CLASS, &key]).await?;
    Ok((client, rows.iter().map(|row| row.get(0)).collect()))
}

/// Where the files of this node are.
fn key(settings: &Settings) -> i32 {
    if settings.get(plinth_storage::BACKEND) != "s3" {
        return LOCAL;
    }
    let endpoint = settings.get(plinth_storage::S3_ENDPOINT);
    let place = format!(
        "{} {} {}",
        endpoint.map_or("", |url| url.url().as_str()),
        settings.get(plinth_storage::S3_BUCKET).unwrap_or_default(),
        settings.get(plinth_storage::S3_PREFIX).unwrap_or_default(),
    );
    // Positive, since PostgreSQL shows it without a sign, and never that of local files.
    let hash = credential_hash(&place);
    let number = i32::from_str_radix(hash.get(..7).unwrap_or_default(), 16);
    number.unwrap_or_default().max(LOCAL + 1)
}
