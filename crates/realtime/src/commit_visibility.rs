//! Waiting until decoded transactions are visible.
//!
//! Logical decoding delivers a transaction as soon as its commit record is written, a moment before
//! other sessions see its rows (long before, with a synchronous standby). A policy check or a catalog
//! query in between would find the database as it was.

use std::time::{Duration, Instant};

use plinth_db::{DbError, Queries};
use plinth_project::{ProjectDb, Service};
use tokio::time::sleep;

/// Assigns a transaction id, so that later snapshots list every older one still in progress.
const ASSIGN_XID: &str = "select pg_catalog.pg_current_xact_id()::text";
const SNAPSHOT: &str = "select pg_catalog.pg_current_snapshot()::text";

const INITIAL_BACKOFF: Duration = Duration::from_micros(500);
const MAX_BACKOFF: Duration = Duration::from_millis(50);
/// A transaction in progress for longer is most likely not about to commit, unless it was decoded.
const IN_PROGRESS_TIMEOUT: Duration = Duration::from_millis(100);
/// Decoded transactions are waited for no longer than this: their standby may be gone.
const DECODED_TIMEOUT: Duration = Duration::from_secs(2);

/// The last known snapshot, which saves queries.
#[derive(Default)]
pub(crate) struct VisibleCommits {
    snapshot: Snapshot,
}

impl VisibleCommits {
    /// Waits until all of these transactions are visible to every session.
    pub(crate) async fn wait_for(
        &mut self,
        db: &ProjectDb,
        transactions: impl Iterator<Item = u32> + Clone,
    ) -> Result<(), DbError> {
        let are_visible = |snapshot: &Snapshot| {
            transactions
                .clone()
                .all(|transaction| snapshot.shows(transaction))
        };
        let mut backoff = INITIAL_BACKOFF;
        while !are_visible(&self.snapshot) {
            let mut connection = db.as_service(Service::Realtime).await?;
            self.snapshot = current_snapshot(&mut connection).await?;
            drop(connection);
            if !are_visible(&self.snapshot) {
                sleep(backoff).await;
                backoff = MAX_BACKOFF.min(backoff * 2);
            }
        }
        Ok(())
    }
}

/// Waits until everything that was decoded so far is visible: the `decoded` transactions, and those
/// in progress now, one of which may have been decoded by another node or before this one read the
/// stream. Gives up after a timeout.
pub(crate) async fn wait_for_decoded(
    connection: &mut impl Queries,
    mut decoded: Vec<u32>,
) -> Result<(), DbError> {
    connection.query(ASSIGN_XID, &[]).await?;
    let began = Instant::now();
    let mut backoff = INITIAL_BACKOFF;
    let mut snapshot = current_snapshot(connection).await?;
    let mut awaited = snapshot.in_progress.clone();
    loop {
        awaited.retain(|id| snapshot.in_progress.contains(id));
        decoded.retain(|transaction| !snapshot.shows(*transaction));
        let timeout = if decoded.is_empty() {
            IN_PROGRESS_TIMEOUT
        } else {
            DECODED_TIMEOUT
        };
        if awaited.is_empty() && decoded.is_empty() {
            return Ok(());
        }
        if began.elapsed() >= timeout {
            if !decoded.is_empty() {
                tracing::warn!(
                    "replay may miss messages: decoded transactions not visible after {} ms",
                    timeout.as_millis()
                );
            }
            return Ok(());
        }
        sleep(backoff).await;
        backoff = MAX_BACKOFF.min(backoff * 2);
        snapshot = current_snapshot(connection).await?;
    }
}

async fn current_snapshot(connection: &mut impl Queries) -> Result<Snapshot, DbError> {
    let rows = connection.query(SNAPSHOT, &[]).await?;
    let text: Option<&str> = rows.first().map(|row| row.try_get(0)).transpose()?;
    Snapshot::parse(text.unwrap_or_default())
        .ok_or_else(|| DbError::Lost("unexpected format of pg_current_snapshot()".to_owned()))
}

/// Which transactions have ended, as `pg_snapshot`. Ids have 64 bits.
#[derive(Debug, Default, PartialEq, Eq)]
struct Snapshot {
    /// `xmax`: all ids from here on are in progress or not assigned.
    end: u64,
    /// Ids before it that are in progress.
    in_progress: Vec<u64>,
}

impl Snapshot {
    /// Parses PostgreSQL's text form, `xmin:xmax:xip,xip`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':').skip(1);
        let end = parts.next()?.parse().ok()?;
        let ids = parts.next()?.split(',').filter(|id| !id.is_empty());
        Some(Self {
            end,
            in_progress: ids.map(|id| id.parse().ok()).collect::<Option<_>>()?,
        })
    }

    /// Whether a transaction is visible. The stream has only the low 32 bits of its id, which is
    /// enough: no two ids in use are further apart than half of that range.
    fn shows(&self, xid: u32) -> bool {
        let distance = xid.wrapping_sub(self.end as u32).cast_signed();
        let id = self.end.checked_add_signed(distance.into());
        distance < 0 && id.is_some_and(|id| !self.in_progress.contains(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_visible_once_it_has_ended() {
        let snapshot = Snapshot::parse("10:20:10,14").expect("a snapshot");
        assert!(snapshot.shows(9));
        assert!(snapshot.shows(11));
        assert!(snapshot.shows(19));
        for xid in [10, 14, 20, 21, 1_000_000] {
            assert!(!snapshot.shows(xid), "{xid}");
        }
    }

    #[test]
    fn ids_have_more_than_32_bits() {
        let snapshot = Snapshot::parse("4294967290:4294967300:4294967295,4294967298");
        let snapshot = snapshot.expect("a snapshot");
        assert!(snapshot.shows(4_294_967_294));
        assert!(!snapshot.shows(4_294_967_295));
        assert!(snapshot.shows(3));
        assert!(!snapshot.shows(2));
        assert!(!snapshot.shows(4));
    }

    #[test]
    fn nothing_is_visible_at_first() {
        assert!(!Snapshot::default().shows(3));
        assert_eq!(
            Snapshot::parse("5:5:").map(|snapshot| snapshot.end),
            Some(5)
        );
        for text in ["", "5", "5:x:", "5:6:7,x"] {
            assert_eq!(Snapshot::parse(text), None, "{text}");
        }
    }
}
