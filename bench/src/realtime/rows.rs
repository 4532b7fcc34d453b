//! Row changes for many users who may each see only their own.
//!
//! Beside it: the same inserts without subscribers, which is what the database allows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use plinth_token::KeySet;
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    runtime::{Builder, Runtime},
    task::JoinSet,
};
use tokio_postgres::{Client, NoTls, Statement};

use super::{client, deliveries::Deliveries};

pub(crate) const SETUP: &str = "
    create table if not exists public.bench_rows
        (id bigint generated always as identity primary key, owner uuid not null, sent bigint);
    create index if not exists bench_rows_owner on public.bench_rows (owner);
    alter table public.bench_rows enable row level security;
    drop policy if exists own on public.bench_rows;
    create policy own on public.bench_rows for select to authenticated using (owner = auth.uid());
    do $$ begin
        alter publication supabase_realtime add table public.bench_rows;
    exception when duplicate_object then null; end $$";
/// The same, unpublished.
const SETUP_UNPUBLISHED: &str = "
    create table if not exists public.bench_unheard
        (id bigint generated always as identity primary key, owner uuid not null, sent bigint);
    create index if not exists bench_unheard_owner on public.bench_unheard (owner)";
/// A row of a user, and when it was written.
pub(crate) const VALUES: &str = "(owner, sent) \
     values (('00000000-0000-4000-8000-' || lpad($1::bigint::text, 12, '0'))::uuid, $2)";

/// Sessions that write at the same time.
const WRITERS: usize = 4;
/// Maximum number of changes in flight.
const WINDOW: u64 = 400;
/// Longer than anything here lasts.
const TOKEN_SECONDS: i64 = 48 * 3600;
/// Sockets that are opened at the same time.
const AT_ONCE: usize = 25;

/// How the server is reached.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) port: u16,
    pub(crate) key: String,
    pub(crate) jwt_secret: String,
    pub(crate) db_url: String,
}

/// What the subscribers ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listening {
    /// No subscribers.
    None,
    /// Their own rows, by a filter.
    Filtered,
    /// All rows; policies leave them their own.
    Unfiltered,
}

/// Writers and subscribers.
pub(crate) struct Rows {
    runtime: Runtime,
    writers: Vec<(Client, Statement)>,
    users: u64,
    deliveries: Arc<Deliveries>,
    sent: u64,
    has_subscribers: bool,
}

impl Rows {
    pub(crate) fn open(target: &Target, users: u16, listening: Listening) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let deliveries = Deliveries::new()?;
        let writers = runtime.block_on(async {
            let writers = connect(target, listening).await?;
            if listening != Listening::None {
                listen_all(target, users, listening, &deliveries).await?;
            }
            anyhow::Ok(writers)
        })?;
        Ok(Self {
            runtime,
            writers,
            users: users.into(),
            deliveries,
            sent: 0,
            has_subscribers: listening != Listening::None,
        })
    }

    /// Maximum throughput: changes per second.
    pub(crate) fn saturate(&mut self, seconds: u16) -> anyhow::Result<f64> {
        let duration = Duration::from_secs(seconds.into());
        let Self {
            runtime,
            writers,
            users,
            deliveries,
            sent,
            has_subscribers,
        } = self;
        let next = AtomicU64::new(*sent);
        let begun = Instant::now();
        runtime.block_on(async {
            let writing = writers.iter().map(|(client, insert)| async {
                while begun.elapsed() < duration {
                    let number = next.fetch_add(1, Relaxed);
                    write(client, insert, deliveries, number % *users).await?;
                    if *has_subscribers {
                        deliveries.wait_until(number.saturating_sub(WINDOW)).await?;
                    }
                }
                anyhow::Ok(())
            });
            futures_util::future::try_join_all(writing).await
        })?;
        let written = next.load(Relaxed) - *sent;
        *sent += written;
        if *has_subscribers {
            runtime.block_on(deliveries.wait_until(*sent))?;
        }
        Ok(written as f64 / begun.elapsed().as_secs_f64())
    }

    /// At a fixed rate of changes per second: the 95th percentile of the time in milliseconds from before the
    /// write until delivery or, without subscribers, commit.
    pub(crate) fn at_rate(&mut self, changes: f64, seconds: u16) -> anyhow::Result<f64> {
        self.deliveries.reset_latencies();
        let pause = Duration::from_secs_f64(1.0 / changes);
        let count = (f64::from(seconds) * changes) as u32;
        let begun = Instant::now();
        let Self {
            runtime,
            writers,
            users,
            deliveries,
            sent,
            has_subscribers,
        } = self;
        runtime.block_on(async {
            for number in 0..count {
                let due = begun + pause * number;
                tokio::time::sleep_until(due.into()).await;
                let (client, insert) = &writers[0];
                let before = Instant::now();
                write(client, insert, deliveries, *sent % *users).await?;
                *sent += 1;
                if !*has_subscribers {
                    deliveries.record_latency(before.elapsed());
                }
            }
            if *has_subscribers {
                deliveries.wait_until(*sent).await
            } else {
                Ok(())
            }
        })?;
        Ok(self.deliveries.p95())
    }
}

async fn write(
    client: &Client,
    insert: &Statement,
    deliveries: &Deliveries,
    user: u64,
) -> anyhow::Result<()> {
    let now = i64::try_from(deliveries.now())?;
    let user = i64::try_from(user)?;
    client.execute(insert, &[&user, &now]).await?;
    Ok(())
}

async fn connect(
    target: &Target,
    listening: Listening,
) -> anyhow::Result<Vec<(Client, Statement)>> {
    let (setup, table) = match listening {
        Listening::None => (SETUP_UNPUBLISHED, "public.bench_unheard"),
        Listening::Filtered | Listening::Unfiltered => (SETUP, "public.bench_rows"),
    };
    let mut writers = Vec::with_capacity(WRITERS);
    for number in 0..WRITERS {
        let (client, connection) = tokio_postgres::connect(&target.db_url, NoTls).await?;
        tokio::spawn(connection);
        if number == 0 {
            client.batch_execute(setup).await?;
        }
        let insert = client
            .prepare(&format!("insert into {table} {VALUES}"))
            .await?;
        writers.push((client, insert));
    }
    Ok(writers)
}

async fn listen_all(
    target: &Target,
    users: u16,
    listening: Listening,
    deliveries: &Arc<Deliveries>,
) -> anyhow::Result<()> {
    let accounts = Users::new(target)?;
    let numbers: Vec<u16> = (0..users).collect();
    for some in numbers.chunks(AT_ONCE) {
        let mut opening = JoinSet::new();
        for number in some {
            let join_config = accounts.join_config(*number, listening == Listening::Filtered)?;
            let (target, topic) = (target.clone(), format!("realtime:rows-{number}"));
            opening.spawn(async move {
                subscribe(target.port, &target.key, &topic, &join_config.to_string()).await
            });
        }
        while let Some(stream) = opening.join_next().await {
            tokio::spawn(deliveries.clone().listen(stream??, true, sent_at));
        }
    }
    Ok(())
}

/// Subscribers, each with a token of their own.
pub(crate) struct Users {
    keys: KeySet,
    expires_at: i64,
}

impl Users {
    pub(crate) fn new(target: &Target) -> anyhow::Result<Self> {
        Ok(Self {
            keys: KeySet::builder()
                .legacy_secret(&target.jwt_secret)
                .build()?,
            expires_at: time::OffsetDateTime::now_utc().unix_timestamp() + TOKEN_SECONDS,
        })
    }

    /// The join configuration: the user's own rows by a filter, or all that they may see.
    pub(crate) fn join_config(&self, number: u16, is_filtered: bool) -> anyhow::Result<Value> {
        let sub = format!("00000000-0000-4000-8000-{number:012}");
        let claims = json!({"role": "authenticated", "sub": sub, "exp": self.expires_at});
        let mut entry = json!({"event": "*", "schema": "public", "table": "bench_rows"});
        if is_filtered {
            entry["filter"] = format!("owner=eq.{sub}").into();
        }
        Ok(json!({
            "config": {"postgres_changes": [entry]},
            "access_token": self.keys.sign(&claims)?,
        }))
    }
}

async fn subscribe(
    port: u16,
    key: &str,
    topic: &str,
    join_config: &str,
) -> anyhow::Result<TcpStream> {
    let mut stream = client::join_with(port, key, topic, join_config).await?;
    let said = client::read_frame(&mut stream).await?;
    let said = String::from_utf8_lossy(&said);
    ensure!(
        said.contains("Subscribed to PostgreSQL"),
        "no changes: {said}"
    );
    Ok(stream)
}

/// The send time that a row carries.
fn sent_at(payload: &[u8]) -> Option<u64> {
    const MEMBER: &[u8] = br#""sent":"#;
    let start = payload
        .windows(MEMBER.len())
        .rposition(|part| part == MEMBER)?;
    let digits = &payload[start + MEMBER.len()..];
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_time_of_writing() {
        assert_eq!(sent_at(br#"{"record":{"id":1,"sent":42}}"#), Some(42));
        assert_eq!(sent_at(br#"[null,"2","phoenix"]"#), None);
    }
}
