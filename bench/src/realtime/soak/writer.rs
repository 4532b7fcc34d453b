//! Inserted, updated and deleted rows, and broadcasts from SQL.

use std::{collections::VecDeque, time::Duration};

use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_postgres::{Client, NoTls, Statement};

use super::{counts::Counts, crowd};
use crate::realtime::rows::{self, Target};

/// Rows that exist at a time. Delivery checks whether a row still exists, so it must not be deleted at once.
const MAX_ROWS: usize = 1_000;
/// SQL broadcasts once per this many rows.
const ROWS_PER_BROADCAST: u64 = 10;

/// Writes as the owner of the database.
pub(super) struct Writer {
    client: Client,
    users: u16,
    insert: Statement,
    update: Statement,
    delete: Statement,
    broadcast: Statement,
}

impl Writer {
    pub(super) async fn open(target: &Target, users: u16) -> anyhow::Result<Self> {
        let (client, connection) = tokio_postgres::connect(&target.db_url, NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(rows::SETUP).await?;
        let insert = format!(
            "insert into public.bench_rows {} returning id",
            rows::VALUES
        );
        let update = "update public.bench_rows set sent = sent + 1 where id = $1";
        let broadcast =
            "select realtime.send(jsonb_build_object('n', $1::bigint), 'news', $2, false)";
        Ok(Self {
            insert: client.prepare(&insert).await?,
            update: client.prepare(update).await?,
            delete: client
                .prepare("delete from public.bench_rows where id = $1")
                .await?,
            broadcast: client.prepare(broadcast).await?,
            client,
            users,
        })
    }

    /// Each row is delivered twice: inserted and updated. Its deletion is not, because its owner is unknown
    /// then.
    pub(super) async fn write(
        &mut self,
        per_second: u16,
        counts: &Counts,
        end: Instant,
    ) -> anyhow::Result<()> {
        let mut turn = interval(Duration::from_secs(1) / u32::from(per_second));
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut kept = VecDeque::with_capacity(MAX_ROWS);
        for number in 0_u64.. {
            turn.tick().await;
            if Instant::now() >= end {
                break;
            }
            let user = number % u64::from(self.users);
            let (owner, sent) = (i64::try_from(user)?, i64::try_from(number)?);
            let row = self
                .client
                .query_one(&self.insert, &[&owner, &sent])
                .await?;
            let id: i64 = row.get(0);
            self.client.execute(&self.update, &[&id]).await?;
            counts.add(|counts| &counts.changes_due, 2);
            kept.push_back(id);
            if kept.len() > MAX_ROWS
                && let Some(oldest) = kept.pop_front()
            {
                self.client.execute(&self.delete, &[&oldest]).await?;
            }
            if number.is_multiple_of(ROWS_PER_BROADCAST) {
                self.broadcast(number, user as u16, counts).await?;
            }
        }
        Ok(())
    }

    async fn broadcast(&self, number: u64, user: u16, counts: &Counts) -> anyhow::Result<()> {
        let topic = crowd::topic(user);
        let sub_topic = topic.trim_start_matches("realtime:");
        let number = i64::try_from(number)?;
        self.client
            .execute(&self.broadcast, &[&number, &sub_topic])
            .await?;
        let subscribers = crowd::subscribers_of(user, self.users);
        counts.add(|counts| &counts.broadcasts_due, subscribers.into());
        Ok(())
    }
}
