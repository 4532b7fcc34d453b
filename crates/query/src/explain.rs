//! Plans of statements (console contract N74).

use plinth_db::{CellLimits, ScriptEvent, ScriptSession, SessionState};
use serde::{Deserialize, Serialize};

use crate::{QueryError, Rejection};

/// Longest plan.
const MAX_PLAN_BYTES: usize = 16 * 1024 * 1024;

/// What a plan shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExplainOptions {
    /// Runs the statement, and rolls back what it did.
    pub analyze: bool,
}

/// The plan of one statement, as PostgreSQL's JSON text, in a transaction of its own or in the one that is
/// open. What the statement does is rolled back; what is
/// outside of transactions, such as the next value of a sequence, is not.
pub async fn explain(
    session: &mut ScriptSession,
    statement: &str,
    options: ExplainOptions,
) -> Result<String, QueryError> {
    if statement.contains('\0') {
        return Err(QueryError::Invalid(
            "SQL cannot contain NUL characters".to_owned(),
        ));
    }
    let analyze = if options.analyze {
        "analyze, buffers, "
    } else {
        ""
    };
    // On a line of its own, so that no comment before it hides it.
    let prefix = format!("explain ({analyze}verbose, settings, format json)\n");
    session.batch_execute("begin").await?;
    session.start(&format!("{prefix}{statement}"), 0)?;
    let plan = read_plan(session, &prefix).await;
    // An error of the statement has ended the transaction already.
    let ended = settle(session).await;
    session.batch_execute("rollback").await?;
    let plan = plan?;
    ended?;
    Ok(plan)
}

async fn read_plan(session: &mut ScriptSession, prefix: &str) -> Result<String, QueryError> {
    let limits = CellLimits {
        cell_bytes: MAX_PLAN_BYTES,
        row_bytes: MAX_PLAN_BYTES,
    };
    let mut plan = String::new();
    loop {
        match session.next(limits).await? {
            ScriptEvent::Row(row) => {
                if !row.cut.is_empty() {
                    return Err(QueryError::Invalid("The plan is too long".to_owned()));
                }
                plan.extend(row.cells.into_iter().flatten());
            }
            ScriptEvent::Failed(error) => {
                let mut rejection = Rejection::new(&error, &[]);
                let shift = u32::try_from(prefix.chars().count()).unwrap_or(0);
                rejection.position = rejection
                    .position
                    .and_then(|position| position.checked_sub(shift))
                    .filter(|position| *position > 0);
                return Err(QueryError::Rejected(Box::new(rejection)));
            }
            ScriptEvent::Complete(_) | ScriptEvent::Empty | ScriptEvent::Suspended => {
                return Ok(plan);
            }
            ScriptEvent::Columns(_) | ScriptEvent::Notice(_) | ScriptEvent::Ready(_) => {}
        }
    }
}

async fn settle(session: &mut ScriptSession) -> Result<SessionState, QueryError> {
    session.sync();
    let limits = CellLimits {
        cell_bytes: 0,
        row_bytes: 0,
    };
    loop {
        if let ScriptEvent::Ready(state) = session.next(limits).await? {
            return Ok(state);
        }
    }
}
