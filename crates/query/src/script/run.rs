//! Running a script.

use std::time::{Duration, Instant};

use plinth_db::{
    CellLimits, DbError, PgError, ScriptColumn, ScriptEvent, ScriptRow, ScriptSession, SessionState,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{EndState, Event, Script, restricted};

/// Rows are sent in events of about this size.
const CHUNK_BYTES: usize = 60 * 1024;
/// Rows that came are not kept back longer.
const MAX_CHUNK_AGE: Duration = Duration::from_millis(500);
/// Of a row, beyond which cells are cut to a few characters.
const ROW_BYTES: usize = 1024 * 1024;

/// How a script is run.
#[derive(Debug, Clone)]
pub struct ScriptOptions {
    /// Most rows of each statement; no limit if absent.
    pub row_limit: Option<u32>,
    /// Longer cells are cut.
    pub cell_bytes: usize,
    /// What belongs together.
    pub mode: TransactionMode,
    /// Whether only statements are accepted that read. The session is in a read-only transaction.
    pub is_restricted: bool,
    /// The most it may take.
    pub timeout: Duration,
}

/// Which statements are one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransactionMode {
    /// All of them, unless they begin and end transactions themselves.
    #[default]
    Script,
    /// Each is one.
    Statement,
    /// They go on in a transaction that is open, and that stays open.
    Open,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How.
    pub state: EndState,
    /// How many statements were completed.
    pub completed: usize,
    /// How many of them have effects that stay.
    pub kept: usize,
    /// The transaction that is open now; `None` if the session is of no more use.
    pub session: Option<SessionState>,
}

/// Runs all statements, sending events until the receiver is dropped. Whoever drops it has to cancel the
/// session, which ends this.
pub async fn run(
    session: &mut ScriptSession,
    script: &Script,
    options: &ScriptOptions,
    events: &mpsc::Sender<Event>,
) -> Outcome {
    let deadline = Instant::now() + options.timeout;
    let canceller = session.canceller();
    let mut run = Run {
        session,
        script,
        options,
        events,
        completed: 0,
        kept: 0,
    };
    let outcome = {
        let mut running = std::pin::pin!(run.all());
        tokio::select! {
            outcome = &mut running => Some(outcome),
            () = tokio::time::sleep_until(deadline.into()) => {
                // The statement fails, and the run ends as after any other error.
                _ = canceller.cancel().await;
                let rest = tokio::time::timeout(CANCEL_TIMEOUT, running).await;
                rest.ok().map(|mut outcome| {
                    if outcome.state == EndState::Cancelled {
                        outcome.state = EndState::TimedOut;
                    }
                    outcome
                })
            }
        }
    };
    outcome.unwrap_or(Outcome {
        state: EndState::TimedOut,
        completed: 0,
        kept: 0,
        session: None,
    })
}

/// How long a statement may take to be cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

struct Run<'a> {
    session: &'a mut ScriptSession,
    script: &'a Script,
    options: &'a ScriptOptions,
    events: &'a mpsc::Sender<Event>,
    completed: usize,
    kept: usize,
}

/// Why a run ends early.
enum Stop {
    /// The statement failed.
    Failed(Box<PgError>),
    /// The connection is gone.
    Lost(DbError),
    /// Nobody listens.
    Unheard,
}

impl Run<'_> {
    async fn all(&mut self) -> Outcome {
        for statement in 0..self.script.len() {
            if let Err(stop) = self.one(statement).await {
                return self.stopped(statement, stop).await;
            }
            self.completed += 1;
        }
        match self.synchronise().await {
            Ok(state) => {
                if state == SessionState::Idle {
                    self.kept = self.completed;
                }
                Outcome {
                    state: EndState::Completed,
                    completed: self.completed,
                    kept: self.kept,
                    session: Some(state),
                }
            }
            // Constraints that are deferred to the end.
            Err(stop) => {
                self.stopped(self.script.len().saturating_sub(1), stop)
                    .await
            }
        }
    }

    async fn one(&mut self, statement: usize) -> Result<(), Stop> {
        let sql = self.script.sql(statement);
        if self.options.is_restricted
            && let Some(reason) = restricted::refusal(sql)
        {
            return Err(Stop::Failed(Box::new(PgError::new("42501", reason))));
        }
        if sql.contains('\0') {
            let error = PgError::new("22021", "SQL cannot contain NUL characters");
            return Err(Stop::Failed(Box::new(error)));
        }
        let begun = Instant::now();
        // One row more tells whether there are others.
        let limit = self.options.row_limit;
        self.session
            .start(sql, limit.map_or(0, |limit| limit.saturating_add(1)))
            .map_err(Stop::Lost)?;
        let mut rows = Rows::new(statement, limit, self.events);
        let (tag, is_suspended) = loop {
            let limits = CellLimits {
                cell_bytes: self.options.cell_bytes,
                row_bytes: ROW_BYTES,
            };
            let event = self.session.next(limits);
            match event.await.map_err(Stop::Lost)? {
                ScriptEvent::Columns(columns) => rows.columns(columns).await?,
                ScriptEvent::Row(row) => rows.push(row).await?,
                ScriptEvent::Notice(notice) => {
                    rows.flush().await?;
                    self.send(Event::notice(statement, notice)).await?;
                }
                ScriptEvent::Complete(tag) => break (tag, false),
                ScriptEvent::Suspended => break (String::new(), true),
                ScriptEvent::Empty => break (String::new(), false),
                ScriptEvent::Failed(error) => {
                    // What came before the error was computed, and is of use to whoever looks for it.
                    rows.flush().await?;
                    return Err(Stop::Failed(error));
                }
                ScriptEvent::Ready(_) => {}
            }
        };
        rows.flush().await?;
        let (count, is_limited) = (rows.count, rows.is_limited || is_suspended);
        let tag = if tag.is_empty() && is_suspended {
            format!("SELECT {count}")
        } else {
            tag
        };
        if self.options.mode != TransactionMode::Script {
            let state = self.synchronise().await?;
            if state == SessionState::Idle {
                self.kept = statement + 1;
            }
        } else if tag == "COMMIT" {
            self.kept = statement + 1;
        }
        self.send(Event::Complete {
            statement,
            rows: affected(&tag).unwrap_or(count),
            tag,
            limited: is_limited,
            ms: millis(begun),
        })
        .await
    }

    /// Ends the implicit transaction.
    async fn synchronise(&mut self) -> Result<SessionState, Stop> {
        self.session.sync();
        let mut failure = None;
        loop {
            let limits = CellLimits {
                cell_bytes: 0,
                row_bytes: 0,
            };
            match self.session.next(limits).await.map_err(Stop::Lost)? {
                ScriptEvent::Ready(state) => {
                    return failure.map_or(Ok(state), |error| Err(Stop::Failed(error)));
                }
                ScriptEvent::Failed(error) => failure = Some(error),
                ScriptEvent::Notice(notice) => {
                    let statement = self.script.len().saturating_sub(1);
                    self.send(Event::notice(statement, notice)).await?;
                }
                _ => {}
            }
        }
    }

    async fn stopped(&mut self, statement: usize, stop: Stop) -> Outcome {
        let (state, session) = match stop {
            Stop::Failed(error) => {
                let place = error
                    .position
                    .and_then(|position| self.script.place(statement, position));
                let error = with_own_hint(*error);
                let event = Event::error(Some(statement), &error, place);
                _ = self.events.send(event).await;
                let is_cancelled = matches!(error.sqlstate(), "57014" | "57P01");
                let state = if is_cancelled {
                    EndState::Cancelled
                } else {
                    EndState::Failed
                };
                // After a fatal error there is nobody to listen again.
                (state, self.synchronise().await.ok())
            }
            Stop::Lost(error) => {
                let error = PgError::new("08006", format!("The connection was lost: {error}"));
                let event = Event::error(Some(statement), &error, None);
                _ = self.events.send(event).await;
                (EndState::Unknown, None)
            }
            Stop::Unheard => (EndState::Cancelled, None),
        };
        Outcome {
            state,
            completed: self.completed,
            kept: self.kept.min(self.completed),
            session,
        }
    }

    async fn send(&self, event: Event) -> Result<(), Stop> {
        self.events.send(event).await.map_err(|_| Stop::Unheard)
    }
}

/// Rows of one statement, sent in chunks.
struct Rows<'a> {
    statement: usize,
    limit: Option<u32>,
    events: &'a mpsc::Sender<Event>,
    rows: Vec<Vec<Option<String>>>,
    truncated: Vec<(usize, usize, usize)>,
    bytes: usize,
    count: u64,
    is_limited: bool,
    last_flush: Instant,
}

impl<'a> Rows<'a> {
    fn new(statement: usize, limit: Option<u32>, events: &'a mpsc::Sender<Event>) -> Self {
        Self {
            statement,
            limit,
            events,
            rows: Vec::new(),
            truncated: Vec::new(),
            bytes: 0,
            count: 0,
            is_limited: false,
            last_flush: Instant::now(),
        }
    }

    async fn columns(&mut self, columns: Vec<ScriptColumn>) -> Result<(), Stop> {
        let event = Event::Columns {
            statement: self.statement,
            columns: columns.into_iter().map(Into::into).collect(),
        };
        self.events.send(event).await.map_err(|_| Stop::Unheard)
    }

    async fn push(&mut self, row: ScriptRow) -> Result<(), Stop> {
        if self
            .limit
            .is_some_and(|limit| self.count >= u64::from(limit))
        {
            // COPY, and statements that return what they changed, are not stopped by a limit.
            self.is_limited = true;
            return Ok(());
        }
        let size = row
            .cells
            .iter()
            .map(|cell| 4 + cell.as_ref().map_or(0, String::len));
        let size: usize = size.sum();
        if self.bytes + size > CHUNK_BYTES {
            self.flush().await?;
        }
        let index = self.rows.len();
        let cut = row.cut.into_iter();
        self.truncated
            .extend(cut.map(|(column, length)| (index, column, length)));
        self.rows.push(row.cells);
        self.bytes += size;
        self.count += 1;
        if self.last_flush.elapsed() > MAX_CHUNK_AGE {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Stop> {
        self.last_flush = Instant::now();
        if self.rows.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let event = Event::Rows {
            statement: self.statement,
            rows: std::mem::take(&mut self.rows),
            truncated: std::mem::take(&mut self.truncated),
        };
        self.events.send(event).await.map_err(|_| Stop::Unheard)
    }
}

/// What PostgreSQL cannot know.
fn with_own_hint(mut error: PgError) -> PgError {
    let is_copy = error
        .context
        .as_deref()
        .is_some_and(|text| text.starts_with("COPY "))
        && error.message.contains("there is no data to copy");
    if is_copy {
        error.message = "COPY … FROM STDIN has no data here".to_owned();
        error.hint = Some("Import the file into the table instead.".to_owned());
    } else if error.sqlstate() == "25001" && error.hint.is_none() {
        error.hint = Some("Run this statement alone.".to_owned());
    }
    error
}

/// The number at the end of a tag.
fn affected(tag: &str) -> Option<u64> {
    tag.rsplit(' ').next()?.parse().ok()
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_tag_is_that_of_rows() {
        assert_eq!(affected("INSERT 0 12"), Some(12));
        assert_eq!(affected("CREATE TABLE"), None);
        assert_eq!(affected(""), None);
    }
}
