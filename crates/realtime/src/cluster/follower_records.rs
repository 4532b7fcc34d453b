//! What followers write into the database while they receive no heartbeat of the node that reads
//! the slot.
//!
//! The broker may reach that node and not them. A follower that is silent there and has a recent
//! record here is alive, and the slot is not confirmed past what it has delivered.

use std::time::Duration;

use plinth_db::{DbError, Queries as _, replication::Lsn};
use plinth_project::{Project, Service};

use super::FollowerPosition;
use crate::topics::NodeId;

/// How many records a follower writes within the time after which it counts as dead.
const RECORDS_PER_TIMEOUT: u32 = 6;

const WRITE: &str = "
    insert into realtime.followers (node, received, delivered, seen_at)
    values ($1, $2, $3, pg_catalog.clock_timestamp())
    on conflict (node) do update set
        received = excluded.received, delivered = excluded.delivered, seen_at = excluded.seen_at
";

const DELETE: &str = "delete from realtime.followers where node = $1";

/// Recent records of other nodes. Those of nodes that ended long ago are deleted.
const LIST: &str = "
    with expired as (
        delete from realtime.followers
        where seen_at < pg_catalog.clock_timestamp() - 100 * pg_catalog.make_interval(secs => $2)
    )
    select node, received, delivered,
        extract(epoch from pg_catalog.clock_timestamp() - seen_at)::float8
    from realtime.followers
    where node <> $1
        and seen_at > pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => $2)
";

/// The records of one project's followers. Cheap to clone.
#[derive(Clone)]
pub(super) struct FollowerRecords {
    project: Project,
    node: NodeId,
    timeout: Duration,
}

/// What a follower has written.
#[derive(Debug, Clone, Copy)]
pub(super) struct FollowerRecord {
    pub(super) node: NodeId,
    pub(super) position: FollowerPosition,
    pub(super) age: Duration,
}

impl FollowerRecords {
    /// As `node`; a follower counts as dead after `timeout` without a sign of life.
    pub(super) fn new(project: &Project, node: NodeId, timeout: Duration) -> Self {
        Self {
            project: project.clone(),
            node,
            timeout,
        }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How often a follower writes its record.
    pub(super) fn interval(&self) -> Duration {
        self.timeout / RECORDS_PER_TIMEOUT
    }

    /// Writes that this node lives and how far it is.
    pub(super) async fn write(&self, position: FollowerPosition) -> Result<(), DbError> {
        let node = self.node.0.cast_signed();
        let received = position.received.0.cast_signed();
        let delivered = position.delivered.0.cast_signed();
        let mut connection = self.project.db.as_service(Service::Realtime).await?;
        let params: plinth_db::Params<'_> = &[&node, &received, &delivered];
        connection.execute(WRITE, params).await.map(drop)
    }

    /// Deletes this node's record: nothing is expected here any more.
    pub(super) async fn delete(&self) -> Result<(), DbError> {
        let node = self.node.0.cast_signed();
        let mut connection = self.project.db.as_service(Service::Realtime).await?;
        connection.execute(DELETE, &[&node]).await.map(drop)
    }

    /// The records of other nodes that are not older than the timeout.
    pub(super) async fn list(&self) -> Result<Vec<FollowerRecord>, DbError> {
        let node = self.node.0.cast_signed();
        let mut connection = self.project.db.as_service(Service::Realtime).await?;
        let timeout = self.timeout.as_secs_f64();
        let rows = connection.query(LIST, &[&node, &timeout]).await?;
        let number = |row: &plinth_db::Row, column| -> Result<u64, DbError> {
            Ok(row.try_get::<_, i64>(column)?.cast_unsigned())
        };
        rows.iter()
            .map(|row| {
                let age: f64 = row.try_get(3)?;
                Ok(FollowerRecord {
                    node: NodeId(number(row, 0)?),
                    position: FollowerPosition {
                        received: Lsn(number(row, 1)?),
                        delivered: Lsn(number(row, 2)?),
                    },
                    age: Duration::try_from_secs_f64(age).unwrap_or_default(),
                })
            })
            .collect()
    }
}
