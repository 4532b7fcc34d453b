//! The log tells of a transaction when its commit is written, a moment before other sessions can
//! see what it did (with a standby that is waited for, long before). Whoever asked about a row in
//! between would not find it, and would find its table as it was.

use std::time::{Duration, Instant};

use plinth_db::{DbError, Queries};
use plinth_project::{ProjectDb, Service};
use tokio::time::sleep;

/// Takes a number, so that the snapshots that follow name everybody who had a smaller one.
const NUMBER: &str = "select pg_catalog.pg_current_xact_id()::text";
const SNAPSHOT: &str = "select pg_catalog.pg_current_snapshot()::text";

const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// Who is in progress for longer is most likely not about to commit, unless the log says so.
const PATIENCE: Duration = Duration::from_millis(100);
/// Nor does anybody wait longer for those of whom the log says it: their standby may be gone.
const LONG_PATIENCE: Duration = Duration::from_secs(2);

/// What can be seen, as far as it is known.
#[derive(Default)]
pub(super) struct Commits {
    seen: Snapshot,
}

impl Commits {
    /// Waits until everybody can see what these transactions did.
    pub(super) async fn wait_for(
        &mut self,
        db: &ProjectDb,
        transactions: impl Iterator<Item = u32> + Clone,
    ) -> Result<(), DbError> {
        let all_are_seen = |seen: &Snapshot| {
            transactions
                .clone()
                .all(|transaction| seen.shows(transaction))
        };
        let mut pause = FIRST_PAUSE;
        while !all_are_seen(&self.seen) {
            let mut connection = db.as_service(Service::Realtime).await?;
            self.seen = now(&mut connection).await?;
            drop(connection);
            if !all_are_seen(&self.seen) {
                sleep(pause).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            }
        }
        Ok(())
    }
}

/// Waits until everybody can see what the log has told of so far: for `told`, which it has told
/// here, and for whoever may have committed before anybody listened, or may have been told of by
/// another node.
pub(crate) async fn settle(
    connection: &mut impl Queries,
    mut told: Vec<u32>,
) -> Result<(), DbError> {
    connection.query(NUMBER, &[]).await?;
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut snapshot = now(connection).await?;
    let mut awaited = snapshot.in_progress.clone();
    loop {
        awaited.retain(|number| snapshot.in_progress.contains(number));
        told.retain(|transaction| !snapshot.shows(*transaction));
        let patience = match told.is_empty() {
            true => PATIENCE,
            false => LONG_PATIENCE,
        };
        if awaited.is_empty() && told.is_empty() {
            return Ok(());
        }
        if began.elapsed() >= patience {
            if !told.is_empty() {
                tracing::warn!("messages may be missing between the past and the present");
            }
            return Ok(());
        }
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        snapshot = now(connection).await?;
    }
}

async fn now(connection: &mut impl Queries) -> Result<Snapshot, DbError> {
    let rows = connection.query(SNAPSHOT, &[]).await?;
    let text: Option<&str> = rows.first().map(|row| row.try_get(0)).transpose()?;
    Snapshot::parse(text.unwrap_or_default())
        .ok_or_else(|| DbError::Lost("a snapshot cannot be read".to_owned()))
}

/// Which transactions are over. Their numbers are counted on beyond 32 bits.
#[derive(Debug, Default, PartialEq, Eq)]
struct Snapshot {
    /// The first number that had not been given away to one that is over.
    end: u64,
    /// Those before it that are not over.
    in_progress: Vec<u64>,
}

impl Snapshot {
    /// As PostgreSQL writes it: `xmin:xmax:xip,xip`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':').skip(1);
        let end = parts.next()?.parse().ok()?;
        let numbers = parts.next()?.split(',').filter(|number| !number.is_empty());
        Some(Self {
            end,
            in_progress: numbers
                .map(|number| number.parse().ok())
                .collect::<Option<_>>()?,
        })
    }

    /// Whether a transaction, known by the last 32 bits of its number, can be seen. Nothing is
    /// further away than half of what these can count.
    fn shows(&self, xid: u32) -> bool {
        let distance = xid.wrapping_sub(self.end as u32).cast_signed();
        let number = self.end.checked_add_signed(distance.into());
        distance < 0 && number.is_some_and(|number| !self.in_progress.contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_seen_once_it_is_over() {
        let snapshot = Snapshot::parse("10:20:10,14").expect("a snapshot");
        assert!(snapshot.shows(9));
        assert!(snapshot.shows(11));
        assert!(snapshot.shows(19));
        for xid in [10, 14, 20, 21, 1_000_000] {
            assert!(!snapshot.shows(xid), "{xid}");
        }
    }

    #[test]
    fn numbers_go_on_beyond_32_bits() {
        let snapshot = Snapshot::parse("4294967290:4294967300:4294967295,4294967298");
        let snapshot = snapshot.expect("a snapshot");
        assert!(snapshot.shows(4_294_967_294));
        assert!(!snapshot.shows(4_294_967_295));
        assert!(snapshot.shows(3));
        assert!(!snapshot.shows(2));
        assert!(!snapshot.shows(4));
    }

    #[test]
    fn nothing_is_known_at_first() {
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
