//! Changes of rows for many who may each see only their own.
//!
//! Beside it: the same inserts while nobody listens, which is what the database allows.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use plinth_token::KeySet;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    runtime::{Builder, Runtime},
    sync::Notify,
    task::JoinSet,
};
use tokio_postgres::{Client, NoTls, Statement};

use super::client;

const SETUP: &str = "
    create table if not exists public.bench_rows
        (id bigint generated always as identity primary key, owner uuid not null, sent bigint);
    create index if not exists bench_rows_owner on public.bench_rows (owner);
    alter table public.bench_rows enable row level security;
    drop policy if exists own on public.bench_rows;
    create policy own on public.bench_rows for select to authenticated using (owner = auth.uid());
    do $$ begin
        alter publication supabase_realtime add table public.bench_rows;
    exception when duplicate_object then null; end $$";
/// The same, and nobody hears of it.
const SETUP_UNHEARD: &str = "
    create table if not exists public.bench_unheard
        (id bigint generated always as identity primary key, owner uuid not null, sent bigint);
    create index if not exists bench_unheard_owner on public.bench_unheard (owner)";
const VALUES: &str = "(owner, sent) \
     values (('00000000-0000-4000-8000-' || lpad($1::bigint::text, 12, '0'))::uuid, $2)";

/// Sessions that write at the same time.
const WRITERS: usize = 4;
/// So many changes may be on their way.
const WINDOW: u64 = 400;
/// A server that hangs must not hang the benchmark.
const STUCK: Duration = Duration::from_secs(60);
/// Sockets that are opened at the same time.
const AT_ONCE: usize = 25;

/// Where everything is.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) port: u16,
    pub(crate) key: String,
    pub(crate) jwt_secret: String,
    pub(crate) db_url: String,
}

/// What the listeners ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listening {
    /// Nobody listens.
    Nobody,
    /// For their own rows by a filter.
    Filtered,
    /// For all rows, of which policies leave them their own.
    Unfiltered,
}

/// Those who write and those who listen.
pub(crate) struct Rows {
    runtime: Runtime,
    writers: Vec<(Client, Statement)>,
    users: u64,
    seen: Arc<Seen>,
    sent: u64,
    is_heard: bool,
}

struct Seen {
    begun: Instant,
    told: AtomicU64,
    progress: Notify,
    latencies: Mutex<Histogram<u64>>,
}

impl Rows {
    pub(crate) fn open(place: &Place, users: u16, listening: Listening) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let seen = Arc::new(Seen {
            begun: Instant::now(),
            told: AtomicU64::new(0),
            progress: Notify::new(),
            latencies: Mutex::new(Histogram::new(3)?),
        });
        let writers = runtime.block_on(async {
            let writers = connect(place, listening).await?;
            if listening != Listening::Nobody {
                listen_all(place, users, listening, &seen).await?;
            }
            anyhow::Ok(writers)
        })?;
        Ok(Self {
            runtime,
            writers,
            users: users.into(),
            seen,
            sent: 0,
            is_heard: listening != Listening::Nobody,
        })
    }

    /// As many as arrive: changes per second.
    pub(crate) fn saturate(&mut self, seconds: u16) -> anyhow::Result<f64> {
        let duration = Duration::from_secs(seconds.into());
        let Self {
            runtime,
            writers,
            users,
            seen,
            sent,
            is_heard,
        } = self;
        let next = AtomicU64::new(*sent);
        let begun = Instant::now();
        runtime.block_on(async {
            let writing = writers.iter().map(|(client, insert)| async {
                while begun.elapsed() < duration {
                    let number = next.fetch_add(1, Relaxed);
                    write(client, insert, seen, number % *users).await?;
                    if *is_heard {
                        seen.wait_until(number.saturating_sub(WINDOW)).await?;
                    }
                }
                anyhow::Ok(())
            });
            futures_util::future::try_join_all(writing).await
        })?;
        let written = next.load(Relaxed) - *sent;
        *sent += written;
        if *is_heard {
            runtime.block_on(seen.wait_until(*sent))?;
        }
        Ok(written as f64 / begun.elapsed().as_secs_f64())
    }

    /// So many changes per second: how long 95 of a hundred take at most, from before they are
    /// written until they are told or, if nobody listens, committed; in milliseconds.
    pub(crate) fn at_rate(&mut self, changes: f64, seconds: u16) -> anyhow::Result<f64> {
        self.seen.latencies(Histogram::reset);
        let pause = Duration::from_secs_f64(1.0 / changes);
        let count = (f64::from(seconds) * changes) as u32;
        let begun = Instant::now();
        let Self {
            runtime,
            writers,
            users,
            seen,
            sent,
            is_heard,
        } = self;
        runtime.block_on(async {
            for number in 0..count {
                let due = begun + pause * number;
                tokio::time::sleep_until(due.into()).await;
                let (client, insert) = &writers[0];
                let before = seen.begun.elapsed();
                write(client, insert, seen, *sent % *users).await?;
                *sent += 1;
                if !*is_heard {
                    seen.note(seen.begun.elapsed().saturating_sub(before));
                }
            }
            match *is_heard {
                true => seen.wait_until(*sent).await,
                false => Ok(()),
            }
        })?;
        let nanoseconds = self
            .seen
            .latencies(|latencies| latencies.value_at_quantile(0.95));
        Ok(nanoseconds as f64 / 1e6)
    }
}

impl Seen {
    async fn wait_until(&self, changes: u64) -> anyhow::Result<()> {
        let arriving = async {
            while self.told.load(Relaxed) < changes {
                let progress = self.progress.notified();
                if self.told.load(Relaxed) >= changes {
                    return;
                }
                _ = tokio::time::timeout(Duration::from_millis(20), progress).await;
            }
        };
        tokio::time::timeout(STUCK, arriving)
            .await
            .with_context(|| {
                let told = self.told.load(Relaxed);
                format!("changes are lost: {told} of {changes} were told")
            })
    }

    fn note(&self, taken: Duration) {
        let nanoseconds = u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX);
        // A histogram that grows by itself takes everything.
        self.latencies(|latencies| _ = latencies.record(nanoseconds));
    }

    fn latencies<T>(&self, look: impl FnOnce(&mut Histogram<u64>) -> T) -> T {
        let latencies = self.latencies.lock();
        look(&mut latencies.unwrap_or_else(PoisonError::into_inner))
    }
}

async fn write(client: &Client, insert: &Statement, seen: &Seen, user: u64) -> anyhow::Result<()> {
    let now = i64::try_from(seen.begun.elapsed().as_nanos())?;
    let user = i64::try_from(user)?;
    client.execute(insert, &[&user, &now]).await?;
    Ok(())
}

async fn connect(place: &Place, listening: Listening) -> anyhow::Result<Vec<(Client, Statement)>> {
    let (setup, table) = match listening {
        Listening::Nobody => (SETUP_UNHEARD, "public.bench_unheard"),
        Listening::Filtered | Listening::Unfiltered => (SETUP, "public.bench_rows"),
    };
    let mut writers = Vec::with_capacity(WRITERS);
    for number in 0..WRITERS {
        let (client, connection) = tokio_postgres::connect(&place.db_url, NoTls).await?;
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
    place: &Place,
    users: u16,
    listening: Listening,
    seen: &Arc<Seen>,
) -> anyhow::Result<()> {
    let keys = KeySet::builder().legacy_secret(&place.jwt_secret).build()?;
    let exp = time::OffsetDateTime::now_utc().unix_timestamp() + 3600;
    let numbers: Vec<u16> = (0..users).collect();
    for some in numbers.chunks(AT_ONCE) {
        let mut opening = JoinSet::new();
        for number in some {
            let sub = format!("00000000-0000-4000-8000-{number:012}");
            let token = keys.sign(&json!({"role": "authenticated", "sub": sub, "exp": exp}))?;
            let mut entry = json!({"event": "*", "schema": "public", "table": "bench_rows"});
            if listening == Listening::Filtered {
                entry["filter"] = format!("owner=eq.{sub}").into();
            }
            let wishes = json!({
                "config": {"postgres_changes": [entry]},
                "access_token": token,
            });
            let (place, topic) = (place.clone(), format!("realtime:rows-{number}"));
            opening.spawn(async move {
                subscribe(place.port, &place.key, &topic, &wishes.to_string()).await
            });
        }
        while let Some(stream) = opening.join_next().await {
            tokio::spawn(listen(stream??, seen.clone()));
        }
    }
    Ok(())
}

async fn subscribe(port: u16, key: &str, topic: &str, wishes: &str) -> anyhow::Result<TcpStream> {
    let mut stream = client::join_with(port, key, topic, wishes).await?;
    let said = client::read_frame(&mut stream).await?;
    let said = String::from_utf8_lossy(&said);
    ensure!(
        said.contains("Subscribed to PostgreSQL"),
        "no changes: {said}"
    );
    Ok(stream)
}

async fn listen(mut stream: TcpStream, seen: Arc<Seen>) {
    let mut buffer = vec![0; 16 * 1024];
    let mut filled = 0;
    let mut beat = tokio::time::interval(client::HEARTBEAT);
    loop {
        let read = tokio::select! {
            read = stream.read(&mut buffer[filled..]) => read,
            _ = beat.tick() => match stream.write_all(&client::heartbeat()).await {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let Ok(read @ 1..) = read else {
            return;
        };
        filled += read;
        let now = seen.begun.elapsed();
        let mut rest = &buffer[..filled];
        while let Some((payload, after)) = client::split(rest) {
            rest = after;
            if let Some(sent_at) = sent_at(payload) {
                seen.note(now.saturating_sub(Duration::from_nanos(sent_at)));
                seen.told.fetch_add(1, Relaxed);
            }
        }
        let left = rest.len();
        buffer.copy_within(filled - left..filled, 0);
        filled = left;
        seen.progress.notify_waiters();
    }
}

/// The time that a row carries.
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
    fn a_row_tells_when_it_was_written() {
        assert_eq!(sent_at(br#"{"record":{"id":1,"sent":42}}"#), Some(42));
        assert_eq!(sent_at(br#"[null,"2","phoenix"]"#), None);
    }
}
