//! SQL that operators run on this node: what can be cancelled, and transactions that stay open.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use plinth_db::ScriptCanceller;
use plinth_project::OperatorScript;
use uuid::Uuid;

use crate::Platform;

/// An open transaction that nobody goes on with is rolled back (console contract N71).
const KEPT_FOR: Duration = Duration::from_secs(300);
/// Most open transactions of this node: each has a connection.
const MAX_KEPT: usize = 50;

/// What runs, and what is kept.
#[derive(Default)]
pub(crate) struct Queries {
    running: Mutex<HashMap<Uuid, (RunningQuery, ScriptCanceller)>>,
    kept: Mutex<HashMap<Uuid, KeptSession>>,
}

/// A run.
#[derive(Debug, Clone)]
pub(crate) struct RunningQuery {
    /// Who started it.
    pub(crate) operator: String,
    project: String,
    /// The process on the server.
    pub(crate) pid: i32,
    cancels: u32,
}

/// A session with an open transaction. Dropping it rolls back.
pub(crate) struct KeptSession {
    operator: String,
    project: String,
    session: OperatorScript,
}

impl RunningQuery {
    pub(crate) fn new(operator: &str, project: &str, pid: i32) -> Self {
        Self {
            operator: operator.to_owned(),
            project: project.to_owned(),
            pid,
            cancels: 0,
        }
    }
}

impl KeptSession {
    pub(crate) fn new(operator: &str, project: &str, session: OperatorScript) -> Self {
        Self {
            operator: operator.to_owned(),
            project: project.to_owned(),
            session,
        }
    }
}

impl Queries {
    pub(crate) fn begin(&self, id: Uuid, query: RunningQuery, canceller: ScriptCanceller) {
        self.running().insert(id, (query, canceller));
    }

    pub(crate) fn end(&self, id: Uuid) {
        self.running().remove(&id);
    }

    /// A run in this project.
    pub(crate) fn find(&self, id: Uuid, project: &str) -> Option<(RunningQuery, ScriptCanceller)> {
        let running = self.running();
        let found = running.get(&id)?;
        (found.0.project == project).then(|| found.clone())
    }

    /// Counts requests to cancel a run; returns how many there were, this one included.
    pub(crate) fn count_cancel(&self, id: Uuid) -> u32 {
        let mut running = self.running();
        let Some((query, _)) = running.get_mut(&id) else {
            return 0;
        };
        query.cancels += 1;
        query.cancels
    }

    /// An open transaction, which only the operator who began it can go on with.
    pub(crate) fn take_session(
        &self,
        id: Uuid,
        operator: &str,
        project: &str,
    ) -> Option<OperatorScript> {
        let mut kept = self.kept();
        let found = kept.get(&id)?;
        if found.operator != operator || found.project != project {
            return None;
        }
        kept.remove(&id).map(|found| found.session)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Uuid, (RunningQuery, ScriptCanceller)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Uuid, KeptSession>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Platform {
    /// Keeps a transaction open for a while. The id is another one each time, so that the time begins
    /// anew with each run.
    pub(crate) fn keep_session(&self, session: KeptSession) -> Uuid {
        let id = Uuid::new_v4();
        let mut kept = self.0.queries.kept();
        if kept.len() >= MAX_KEPT
            && let Some(other) = kept.keys().next().copied()
        {
            kept.remove(&other);
        }
        kept.insert(id, session);
        drop(kept);
        let platform = self.clone();
        self.0.tasks.spawn(async move {
            let shutdown = platform.0.shutdown.clone();
            _ = shutdown
                .run_until_cancelled(tokio::time::sleep(KEPT_FOR))
                .await;
            platform.0.queries.kept().remove(&id);
        });
        id
    }
}
