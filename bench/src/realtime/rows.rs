//! Changes of rows for many who may each see only their own.
//!
//! Beside it: the same inserts while nobody listens, which is what the database allows.

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

use super::{client, heard::Heard};

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
/// The same, and nobody hears of it.
const SETUP_UNHEARD: &str = "
    create table if not exists public.bench_unheard
        (id bigint generated always as identity primary key, owner uuid not null, sent bigint);
    create index if not exists bench_unheard_owner on public.bench_unheard (owner)";
/// A row of a user, and when it was written.
pub(crate) const VALUES: &str = "(owner, sent) \
     values (('00000000-0000-4000-8000-' || lpad($1::bigint::text, 12, '0'))::uuid, $2)";

/// Sessions that write at the same time.
const WRITERS: usize = 4;
/// So many changes may be on their way.
const WINDOW: u64 = 400;
/// Longer than anything here lasts.
const TOKEN_SECONDS: i64 = 48 * 3600;
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
    heard: Arc<Heard>,
    sent: u64,
    is_heard: bool,
}

impl Rows {
    pub(crate) fn open(place: &Place, users: u16, listening: Listening) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let heard = Heard::new()?;
        let writers = runtime.block_on(async {
            let writers = connect(place, listening).await?;
            if listening != Listening::Nobody {
                listen_all(place, users, listening, &heard).await?;
            }
            anyhow::Ok(writers)
        })?;
        Ok(Self {
            runtime,
            writers,
            users: users.into(),
            heard,
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
            heard,
            sent,
            is_heard,
        } = self;
        let next = AtomicU64::new(*sent);
        let begun = Instant::now();
        runtime.block_on(async {
            let writing = writers.iter().map(|(client, insert)| async {
                while begun.elapsed() < duration {
                    let number = next.fetch_add(1, Relaxed);
                    write(client, insert, heard, number % *users).await?;
                    if *is_heard {
                        heard.wait_until(number.saturating_sub(WINDOW)).await?;
                    }
                }
                anyhow::Ok(())
            });
            futures_util::future::try_join_all(writing).await
        })?;
        let written = next.load(Relaxed) - *sent;
        *sent += written;
        if *is_heard {
            runtime.block_on(heard.wait_until(*sent))?;
        }
        Ok(written as f64 / begun.elapsed().as_secs_f64())
    }

    /// So many changes per second: how long 95 of a hundred take at most, from before they are
    /// written until they are told or, if nobody listens, committed; in milliseconds.
    pub(crate) fn at_rate(&mut self, changes: f64, seconds: u16) -> anyhow::Result<f64> {
        self.heard.forget_times();
        let pause = Duration::from_secs_f64(1.0 / changes);
        let count = (f64::from(seconds) * changes) as u32;
        let begun = Instant::now();
        let Self {
            runtime,
            writers,
            users,
            heard,
            sent,
            is_heard,
        } = self;
        runtime.block_on(async {
            for number in 0..count {
                let due = begun + pause * number;
                tokio::time::sleep_until(due.into()).await;
                let (client, insert) = &writers[0];
                let before = Instant::now();
                write(client, insert, heard, *sent % *users).await?;
                *sent += 1;
                if !*is_heard {
                    heard.note(before.elapsed());
                }
            }
            match *is_heard {
                true => heard.wait_until(*sent).await,
                false => Ok(()),
            }
        })?;
        Ok(self.heard.p95())
    }
}

async fn write(
    client: &Client,
    insert: &Statement,
    heard: &Heard,
    user: u64,
) -> anyhow::Result<()> {
    let now = i64::try_from(heard.now())?;
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
    heard: &Arc<Heard>,
) -> anyhow::Result<()> {
    let people = Users::new(place)?;
    let numbers: Vec<u16> = (0..users).collect();
    for some in numbers.chunks(AT_ONCE) {
        let mut opening = JoinSet::new();
        for number in some {
            let wishes = people.wishes(*number, listening == Listening::Filtered)?;
            let (place, topic) = (place.clone(), format!("realtime:rows-{number}"));
            opening.spawn(async move {
                subscribe(place.port, &place.key, &topic, &wishes.to_string()).await
            });
        }
        while let Some(stream) = opening.join_next().await {
            tokio::spawn(heard.clone().listen(stream??, true, sent_at));
        }
    }
    Ok(())
}

/// Those who listen, each with a token of their own.
pub(crate) struct Users {
    keys: KeySet,
    expires_at: i64,
}

impl Users {
    pub(crate) fn new(place: &Place) -> anyhow::Result<Self> {
        Ok(Self {
            keys: KeySet::builder().legacy_secret(&place.jwt_secret).build()?,
            expires_at: time::OffsetDateTime::now_utc().unix_timestamp() + TOKEN_SECONDS,
        })
    }

    /// What somebody says to hear of rows: by a filter of theirs alone, or of all that they may see.
    pub(crate) fn wishes(&self, number: u16, is_filtered: bool) -> anyhow::Result<Value> {
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
