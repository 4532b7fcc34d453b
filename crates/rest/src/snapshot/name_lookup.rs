//! Queries whether relations or functions exist that the schema cache does not have.
//!
//! Names of concurrent requests are batched into one query, and queries keep a minimum interval. So
//! wrong names cost the database the same, however many clients send them.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use plinth_project::ProjectDb;
use postgres_types::Type;
use tokio::{sync::watch, time::Instant};

use super::LoadError;

/// Between two queries.
const MIN_INTERVAL: Duration = Duration::from_millis(20);
const EXISTING_NAMES: &str = include_str!("existing_names.sql");

/// Schema and name of a relation or function.
type Name = (String, String);
type Found = Arc<HashSet<Name>>;

pub(super) struct NameLookup {
    db: ProjectDb,
    batches: Mutex<Batches>,
}

#[derive(Default)]
struct Batches {
    last_sent: Option<Instant>,
    open: Option<Batch>,
}

/// Names for the next query.
struct Batch {
    names: HashSet<Name>,
    result: watch::Receiver<Option<Found>>,
}

/// What a request does for its batch.
enum Part {
    /// Send the query, not before this moment, and share the result.
    Send(watch::Sender<Option<Found>>, Instant),
    /// Wait for the request that sends it.
    Wait(watch::Receiver<Option<Found>>),
}

impl NameLookup {
    pub(super) fn new(db: ProjectDb) -> Self {
        Self {
            db,
            batches: Mutex::default(),
        }
    }

    /// Whether there is a relation or function of this name. Uses a connection outside of the pool,
    /// so that wrong names are rejected even when the pool is exhausted.
    pub(super) async fn exists(&self, schema: &str, name: &str) -> bool {
        let name = (schema.to_owned(), name.to_owned());
        loop {
            match self.join_batch(&name) {
                Part::Send(result, at) => {
                    tokio::time::sleep_until(at).await;
                    let found = Arc::new(self.query(self.close_batch()).await);
                    let exists = found.contains(&name);
                    result.send_replace(Some(found));
                    return exists;
                }
                Part::Wait(mut result) => {
                    if let Ok(found) = result.wait_for(Option::is_some).await {
                        return found.as_ref().is_some_and(|found| found.contains(&name));
                    }
                    // The sending request was cancelled by its client: try again.
                }
            }
        }
    }

    fn join_batch(&self, name: &Name) -> Part {
        let mut batches = self.batches();
        if let Some(batch) = &mut batches.open
            && batch.result.has_changed().is_ok()
        {
            batch.names.insert(name.clone());
            return Part::Wait(batch.result.clone());
        }
        let (sender, result) = watch::channel(None);
        batches.open = Some(Batch {
            names: HashSet::from([name.clone()]),
            result,
        });
        let now = Instant::now();
        let at = batches.last_sent.map_or(now, |last| last + MIN_INTERVAL);
        Part::Send(sender, at)
    }

    /// Later requests open a new batch.
    fn close_batch(&self) -> HashSet<Name> {
        let mut batches = self.batches();
        batches.last_sent = Some(Instant::now());
        let batch = batches.open.take();
        batch.map(|batch| batch.names).unwrap_or_default()
    }

    /// Those that exist; none if the query fails.
    async fn query(&self, names: HashSet<Name>) -> HashSet<Name> {
        self.try_query(names).await.unwrap_or_else(|error| {
            tracing::debug!("looking up names missing from the schema cache failed: {error}");
            HashSet::new()
        })
    }

    async fn try_query(&self, names: HashSet<Name>) -> Result<HashSet<Name>, LoadError> {
        let client = self.db.as_login().await?;
        let (schemas, names): (Vec<String>, Vec<String>) = names.into_iter().unzip();
        let params = [
            (&schemas as _, Type::TEXT_ARRAY),
            (&names as _, Type::TEXT_ARRAY),
        ];
        let rows = client.query_typed(EXISTING_NAMES, &params).await?;
        let found = rows
            .iter()
            .map(|row| Ok((row.try_get("schema")?, row.try_get("name")?)));
        found.collect()
    }

    fn batches(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
