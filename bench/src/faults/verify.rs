//! Looks for everything that was acknowledged.

use std::{
    collections::HashSet,
    fmt,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use plinth_db::Target;
use serde_json::json;
use tokio::runtime::Runtime;

use super::{
    acknowledged::Acknowledged,
    client::Client,
    load::{Server, file_content},
    subscriber::Subscriber,
};

/// Row changes may come late, but not later than this after the last insert.
const MAX_DELAY: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// How much of what was acknowledged is not there.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    rows: usize,
    files: usize,
    sessions: usize,
    row_changes: usize,
}

impl Verdict {
    pub(super) fn add_row_changes(&mut self, lost: usize) {
        self.row_changes += lost;
    }

    pub(super) fn lost(&self) -> u64 {
        (self.rows + self.files + self.sessions + self.row_changes) as u64
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rows,
            files,
            sessions,
            row_changes,
        } = self;
        write!(
            f,
            "lost: {rows} rows, {files} files, {sessions} sessions, {row_changes} row changes"
        )
    }
}

pub(super) fn verify(
    runtime: &Runtime,
    server: &Server,
    acknowledged: &Acknowledged,
    subscriber: &Subscriber,
) -> anyhow::Result<Verdict> {
    let rows = acknowledged.rows();
    runtime.block_on(async {
        let mut client = server.client();
        Ok(Verdict {
            rows: lost_rows(&server.db_url, &rows).await?,
            files: lost_files(&mut client, &acknowledged.files()).await?,
            sessions: lost_sessions(&mut client, &acknowledged.refresh_tokens()).await?,
            row_changes: lost_row_changes(acknowledged, subscriber).await,
        })
    })
}

async fn lost_rows(db_url: &str, acknowledged: &[i64]) -> anyhow::Result<usize> {
    let client = Target::from_url(db_url)?.connect().await?;
    let rows = client.query("select id from public.faults", &[]).await?;
    let stored: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    Ok(acknowledged
        .iter()
        .filter(|id| !stored.contains(id))
        .count())
}

async fn lost_files(client: &mut Client, acknowledged: &[String]) -> anyhow::Result<usize> {
    let mut lost = 0;
    for name in acknowledged {
        let path = format!("/storage/v1/object/faults/{name}");
        let response = client.send("GET", &path, "text/plain", "").await?;
        let number = name
            .strip_suffix(".txt")
            .and_then(|number| number.parse().ok());
        let content = file_content(number.context("a file without a number")?);
        if response.status != 200 || response.body != content.as_bytes() {
            lost += 1;
        }
    }
    Ok(lost)
}

/// A session is there if its latest token can be refreshed.
async fn lost_sessions(client: &mut Client, acknowledged: &[String]) -> anyhow::Result<usize> {
    let mut lost = 0;
    for token in acknowledged {
        let path = "/auth/v1/token?grant_type=refresh_token";
        let body = json!({ "refresh_token": token }).to_string();
        let response = client.send("POST", path, "application/json", &body).await?;
        if response.status != 200 {
            lost += 1;
        }
    }
    Ok(lost)
}

/// How many of the rows acknowledged so far that were inserted since it subscribed do not arrive.
pub(super) async fn lost_row_changes(
    acknowledged: &Acknowledged,
    subscriber: &Subscriber,
) -> usize {
    let rows = acknowledged.rows_sent_since(subscriber.subscribed_at);
    let end = Instant::now() + MAX_DELAY;
    loop {
        let missing = subscriber.missing(&rows);
        if missing == 0 || Instant::now() > end {
            return missing;
        }
        tokio::time::sleep(POLL).await;
    }
}
