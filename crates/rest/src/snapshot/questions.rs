//! Asking the database whether names exist that our knowledge lacks.
//!
//! Every name is asked for, but questions leave together and with a pause between two of them. So
//! wrong names cost the same however many clients send them.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use plinth_project::ProjectDb;
use postgres_types::Type;
use tokio::{sync::watch, time::Instant};

use super::LoadError;

const PAUSE: Duration = Duration::from_millis(20);
const EXISTING: &str = include_str!("existing.sql");

/// Schema and name of a relation or function.
type Name = (String, String);
type Found = Arc<HashSet<Name>>;

pub(super) struct Questions {
    db: ProjectDb,
    gathering: Mutex<Gathering>,
}

#[derive(Default)]
struct Gathering {
    last_asked: Option<Instant>,
    open: Option<Question>,
}

/// A question that has not left yet.
struct Question {
    names: HashSet<Name>,
    answer: watch::Receiver<Option<Found>>,
}

enum Turn {
    /// Ask for everybody, not before this moment.
    Ask(watch::Sender<Option<Found>>, Instant),
    /// Somebody else asks.
    Wait(watch::Receiver<Option<Found>>),
}

impl Questions {
    pub(super) fn new(db: ProjectDb) -> Self {
        Self {
            db,
            gathering: Mutex::default(),
        }
    }

    /// Whether there is a relation or function of this name. No connection of the pool is taken:
    /// a wrong name must be answered when all are busy, too.
    pub(super) async fn exists(&self, schema: &str, name: &str) -> bool {
        let name = (schema.to_owned(), name.to_owned());
        loop {
            match self.join(&name) {
                Turn::Ask(answer, at) => {
                    tokio::time::sleep_until(at).await;
                    let found = Arc::new(self.ask(self.close()).await);
                    let exists = found.contains(&name);
                    answer.send_replace(Some(found));
                    return exists;
                }
                Turn::Wait(mut answer) => {
                    let answered = answer.wait_for(Option::is_some).await;
                    if let Ok(found) = answered {
                        return found.as_ref().is_some_and(|found| found.contains(&name));
                    }
                    // Whoever was to ask has left, as clients may.
                }
            }
        }
    }

    fn join(&self, name: &Name) -> Turn {
        let mut gathering = self.gathering();
        if let Some(question) = &mut gathering.open
            && question.answer.has_changed().is_ok()
        {
            question.names.insert(name.clone());
            return Turn::Wait(question.answer.clone());
        }
        let (sender, answer) = watch::channel(None);
        gathering.open = Some(Question {
            names: HashSet::from([name.clone()]),
            answer,
        });
        let now = Instant::now();
        let at = gathering.last_asked.map_or(now, |last| last + PAUSE);
        Turn::Ask(sender, at)
    }

    /// From here on others ask a question of their own.
    fn close(&self) -> HashSet<Name> {
        let mut gathering = self.gathering();
        gathering.last_asked = Some(Instant::now());
        let question = gathering.open.take();
        question.map(|question| question.names).unwrap_or_default()
    }

    /// Those that exist, as far as the database can be asked.
    async fn ask(&self, names: HashSet<Name>) -> HashSet<Name> {
        self.try_ask(names).await.unwrap_or_else(|error| {
            tracing::debug!("the database could not be asked for names: {error}");
            HashSet::new()
        })
    }

    async fn try_ask(&self, names: HashSet<Name>) -> Result<HashSet<Name>, LoadError> {
        let client = self.db.as_login().await?;
        let (schemas, names): (Vec<String>, Vec<String>) = names.into_iter().unzip();
        let params = [
            (&schemas as _, Type::TEXT_ARRAY),
            (&names as _, Type::TEXT_ARRAY),
        ];
        let rows = client.query_typed(EXISTING, &params).await?;
        let found = rows
            .iter()
            .map(|row| Ok((row.try_get("schema")?, row.try_get("name")?)));
        found.collect()
    }

    fn gathering(&self) -> MutexGuard<'_, Gathering> {
        self.gathering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
