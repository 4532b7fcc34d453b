//! `/platform/projects/{ref}/sql`: SQL of operators as a stream of events (console contract N71, N72).

use std::{convert::Infallible, time::Duration};

use axum::{
    Json,
    body::{Body as HttpBody, Bytes},
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use plinth_db::SessionState;
use plinth_project::{DatabaseAccess, OperatorScript};
use plinth_query::{
    ExplainOptions, Signal,
    script::{EndState, Event, Outcome, Script, ScriptOptions, TransactionMode},
};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    Operator,
    body::{Body, Params, Segments},
    data::{Opened, open},
    subject::{Subject, role_error},
};
use crate::{
    Platform, PlatformError,
    owner_sql::rewrite_statement,
    running_sql::{KeptSession, RunningQuery},
    sql_statements::split,
};

/// Longest script.
pub(super) const MAX_SCRIPT_BYTES: usize = 12 * 1024 * 1024;
/// Cells are cut at this length unless the request says otherwise.
const CELL_BYTES: usize = 10 * 1024;
/// Longest cell that can be asked for.
const MAX_CELL_BYTES: usize = 1024 * 1024;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Events that wait for the client.
const MAX_WAITING_EVENTS: usize = 4;

/// SQL to run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SqlBody {
    /// One or more statements.
    sql: String,
    /// As whom; as the operator if absent.
    #[serde(default, rename = "as")]
    subject: Option<Subject>,
    /// Most rows of each statement; no limit if absent.
    #[serde(default)]
    row_limit: Option<u32>,
    /// Longer cells are cut; 10 240 if absent, at most 1 048 576.
    #[serde(default)]
    max_cell_bytes: Option<usize>,
    /// The most it may take; five minutes if absent.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Whether PostgreSQL refuses every write.
    #[serde(default)]
    read_only: bool,
    /// Which statements are one transaction.
    #[serde(default)]
    transaction: TransactionMode,
    /// Goes on in a transaction that was left open.
    #[serde(default)]
    session: Option<Uuid>,
}

impl SqlBody {
    fn options(&self, access: DatabaseAccess) -> Result<ScriptOptions, PlatformError> {
        let timeout = self
            .timeout_ms
            .map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        if timeout.is_zero() || timeout > MAX_TIMEOUT {
            return Err(PlatformError::Invalid(
                "`timeout_ms` is between 1 and 86400000".to_owned(),
            ));
        }
        let cell_bytes = self.max_cell_bytes.unwrap_or(CELL_BYTES);
        if !(1..=MAX_CELL_BYTES).contains(&cell_bytes) {
            return Err(PlatformError::Invalid(format!(
                "`max_cell_bytes` is between 1 and {MAX_CELL_BYTES}"
            )));
        }
        let is_restricted = access != DatabaseAccess::Owner;
        Ok(ScriptOptions {
            row_limit: self.row_limit,
            cell_bytes,
            mode: if is_restricted || self.session.is_some() {
                TransactionMode::Open
            } else {
                self.transaction
            },
            is_restricted,
            timeout,
        })
    }
}

/// `POST …/sql`: runs statements. The response is a stream of JSON lines; one without `end` is incomplete.
pub(super) async fn run(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<SqlBody>,
) -> Result<Response, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let options = body.options(opened.access)?;
    let script = script_of(body.sql.clone(), opened.access)?;
    let id = Uuid::new_v4();
    let session = session(&platform, &operator, &opened, &body, id).await?;
    if opened.access == DatabaseAccess::Owner && !body.read_only {
        let details = json!({ "sql": audited(&body.sql), "statements": script.len() });
        let reference = &opened.reference;
        platform
            .audit(&operator, Some(reference), "sql.run", details)
            .await;
    }
    let (sender, receiver) = mpsc::channel(MAX_WAITING_EVENTS);
    let running = Running {
        platform: platform.clone(),
        operator,
        reference: opened.reference.to_string(),
        id,
        script,
        options,
        sender,
    };
    platform.0.tasks.spawn(running.run(session));
    let lines = stream::unfold(receiver, async |mut receiver| {
        let event: Event = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Bytes::from(event.to_line())), receiver))
    });
    let kind = [(CONTENT_TYPE, "application/x-ndjson")];
    Ok((kind, HttpBody::from_stream(lines)).into_response())
}

/// The statements of a text, those about shared roles as changes of this project alone.
fn script_of(sql: String, access: DatabaseAccess) -> Result<Script, PlatformError> {
    if sql.len() > MAX_SCRIPT_BYTES {
        return Err(PlatformError::TooLarge(format!(
            "SQL of more than {} MiB is not run; import data instead",
            MAX_SCRIPT_BYTES / 1024 / 1024
        )));
    }
    if let Some(line) = sql.lines().find(|line| line.trim_start().starts_with('\\')) {
        let command: String = line.trim().chars().take(40).collect();
        return Err(PlatformError::Invalid(format!(
            "{command} is a command of psql, and no SQL"
        )));
    }
    let parts: Vec<(std::ops::Range<usize>, Option<String>)> = split(&sql)
        .iter()
        .map(|statement| {
            let start = statement.text.as_ptr().addr() - sql.as_ptr().addr();
            let replacement = match access {
                DatabaseAccess::Owner => rewrite_statement(statement.code),
                DatabaseAccess::Editor | DatabaseAccess::Reader => None,
            };
            (start..start + statement.text.len(), replacement)
        })
        .collect();
    let mut script = Script::new(sql);
    for (range, replacement) in parts {
        script.push(range, replacement);
    }
    Ok(script)
}

/// What the audit log keeps of a text: its beginning, and nothing of a password.
fn audited(sql: &str) -> String {
    if sql.to_ascii_lowercase().contains("password") {
        return "(contains the word password)".to_owned();
    }
    sql.chars().take(2000).collect()
}

/// The session to run in: a new one, or one with an open transaction.
async fn session(
    platform: &Platform,
    operator: &Operator,
    opened: &Opened,
    body: &SqlBody,
    id: Uuid,
) -> Result<OperatorScript, PlatformError> {
    let access = opened.access;
    if access != DatabaseAccess::Owner && (body.subject.is_some() || body.session.is_some()) {
        return Err(PlatformError::Forbidden(
            "Your role runs SQL as itself, and one text at a time".to_owned(),
        ));
    }
    if let Some(kept) = body.session {
        let queries = &platform.0.queries;
        let found = queries.take_session(kept, operator.name(), opened.reference.as_str());
        return found.ok_or_else(|| {
            PlatformError::NotFound(
                "This transaction is no longer open: it was rolled back after five minutes, or \
                 is in use"
                    .to_owned(),
            )
        });
    }
    let application = format!("plinth sql {id}");
    let mut session = opened
        .project
        .db
        .script_session(access, &application)
        .await?;
    session.batch_execute(plinth_query::WATCH_CLIENT).await?;
    prepare(&mut session, access, body).await?;
    Ok(session)
}

async fn prepare(
    session: &mut OperatorScript,
    access: DatabaseAccess,
    body: &SqlBody,
) -> Result<(), PlatformError> {
    if access != DatabaseAccess::Owner {
        // After its first query, a transaction cannot be made one that writes.
        session.batch_execute("begin read only; select 1").await?;
        return Ok(());
    }
    if body.read_only {
        let sql = "set session characteristics as transaction read only";
        session.batch_execute(sql).await?;
    }
    if let Some(subject) = body.subject.as_ref() {
        // Checks the name.
        subject.caller(access)?;
        let sql = "select pg_catalog.set_config('request.jwt.claims', $1, false),
                          pg_catalog.set_config('role', $2, false)";
        let claims = subject.claims_text();
        let set = session.query(sql, &[&claims, &subject.role]).await;
        set.map_err(|error| role_error(error, &subject.role))?;
    }
    if body.transaction == TransactionMode::Open {
        session.batch_execute("begin").await?;
    }
    Ok(())
}

/// A run in the background; its client reads the events.
struct Running {
    platform: Platform,
    operator: Operator,
    reference: String,
    id: Uuid,
    script: Script,
    options: ScriptOptions,
    sender: mpsc::Sender<Event>,
}

impl Running {
    async fn run(self, mut session: OperatorScript) {
        let begun = std::time::Instant::now();
        let query = RunningQuery::new(self.operator.name(), &self.reference, session.pid());
        let canceller = session.canceller();
        let queries = &self.platform.0.queries;
        queries.begin(self.id, query, session.canceller());
        let start = Event::Start {
            query_id: self.id.to_string(),
            pid: session.pid(),
        };
        _ = self.sender.send(start).await;
        let running =
            plinth_query::script::run(&mut session, &self.script, &self.options, &self.sender);
        let mut running = Box::pin(running);
        let gone = async {
            tokio::select! {
                () = self.sender.closed() => {}
                () = self.platform.0.shutdown.cancelled() => {}
                () = self.operator.clone().until_token_ends(self.platform.clone()) => {}
            }
        };
        let outcome = tokio::select! {
            outcome = &mut running => Some(outcome),
            () = gone => {
                // Nobody may or wants to have the rest. Once the session is dropped the server notices by
                // itself.
                _ = canceller.cancel().await;
                tokio::time::timeout(CANCEL_TIMEOUT, &mut running).await.ok()
            }
        };
        drop(running);
        queries.end(self.id);
        let Some(outcome) = outcome else {
            return;
        };
        let kept = self.keep(session, &outcome);
        _ = self
            .sender
            .send(self.end_event(&outcome, kept, begun))
            .await;
    }

    /// Keeps a session whose transaction is to stay open.
    fn keep(&self, session: OperatorScript, outcome: &Outcome) -> Option<Uuid> {
        let is_open = matches!(
            outcome.session,
            Some(SessionState::InTransaction | SessionState::InFailedTransaction)
        );
        let is_wanted = self.options.mode == TransactionMode::Open && !self.options.is_restricted;
        if !is_open || !is_wanted || self.sender.is_closed() {
            return None;
        }
        let kept = KeptSession::new(self.operator.name(), &self.reference, session);
        Some(self.platform.keep_session(kept))
    }

    fn end_event(&self, outcome: &Outcome, kept: Option<Uuid>, begun: std::time::Instant) -> Event {
        let is_unknown = outcome.state == EndState::Unknown;
        Event::End {
            state: outcome.state,
            statements: self.script.len(),
            completed: outcome.completed,
            kept: outcome.kept,
            rolled_back: kept.is_none() && !is_unknown && outcome.kept < outcome.completed,
            session: kept.map(|id| id.to_string()),
            ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// How long a statement may take to be cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a statement is cancelled or its session ended.
#[derive(Debug, Deserialize)]
pub(super) struct CancelParams {
    /// Ends the session; so does a second request.
    #[serde(default)]
    terminate: bool,
}

/// `DELETE …/sql/{query_id}`: cancels a run; asked again, ends its session.
pub(super) async fn cancel(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
    Params(params): Params<CancelParams>,
) -> Result<StatusCode, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let none = || PlatformError::NotFound("This query is not running".to_owned());
    let id: Uuid = id.parse().map_err(|_| none())?;
    let may_cancel_all = opened.access == DatabaseAccess::Owner;
    let queries = &platform.0.queries;
    let reference = opened.reference.as_str();
    if let Some((query, canceller)) = queries.find(id, reference) {
        if !may_cancel_all && query.operator != operator.name() {
            return Err(none());
        }
        if !params.terminate && queries.count_cancel(id) == 1 {
            canceller.cancel().await?;
            return Ok(StatusCode::NO_CONTENT);
        }
        let done = super::activity::send(&platform, &opened, query.pid, Signal::Terminate).await?;
        return if done {
            Ok(StatusCode::NO_CONTENT)
        } else {
            Err(none())
        };
    }
    // It may run on another node, under the name that its session has.
    if !may_cancel_all {
        return Err(none());
    }
    let signal = if params.terminate {
        Signal::Terminate
    } else {
        Signal::Cancel
    };
    let name = format!("plinth sql {id}");
    let backends = super::activity::list_of(&platform, &opened).await?;
    let found = backends.iter().find(|backend| backend.application == name);
    let pid = found.ok_or_else(none)?.pid;
    let done = super::activity::send(&platform, &opened, pid, signal).await?;
    if done {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(none())
    }
}

/// A statement to explain.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExplainBody {
    /// One statement.
    sql: String,
    /// As whom; as the operator if absent.
    #[serde(default, rename = "as")]
    subject: Option<Subject>,
    /// Runs it, and rolls back what it did.
    #[serde(default)]
    analyze: bool,
    /// The most it may take; five minutes if absent.
    #[serde(default)]
    timeout_ms: Option<u64>,
}

/// A plan.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExplainAnswer {
    /// As PostgreSQL writes it: `explain (format json)`.
    plan: Box<RawValue>,
}

/// `POST …/sql/explain`: the plan of a statement.
pub(super) async fn explain(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<ExplainBody>,
) -> Result<Json<ExplainAnswer>, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let request = SqlBody {
        sql: body.sql,
        subject: body.subject,
        row_limit: None,
        max_cell_bytes: None,
        timeout_ms: body.timeout_ms,
        read_only: false,
        transaction: TransactionMode::Open,
        session: None,
    };
    let options = request.options(opened.access)?;
    let script = script_of(request.sql.clone(), opened.access)?;
    if script.len() != 1 {
        return Err(PlatformError::Invalid(
            "One statement at a time can be explained".to_owned(),
        ));
    }
    let id = Uuid::new_v4();
    let mut session = session(&platform, &operator, &opened, &request, id).await?;
    let explained = plinth_query::explain(
        &mut session,
        &request.sql,
        ExplainOptions {
            analyze: body.analyze,
        },
    );
    // Dropping the session ends the statement.
    let plan = tokio::time::timeout(options.timeout, explained).await;
    let plan = plan.map_err(|_| {
        PlatformError::Invalid("The statement took longer than `timeout_ms`".to_owned())
    })??;
    let plan = RawValue::from_string(plan).map_err(PlatformError::caused_by)?;
    Ok(Json(ExplainAnswer { plan }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_about_shared_roles_are_replaced_for_owners_only() {
        let sql = "select 1; alter role anon set statement_timeout = '3s'";
        let of = |access| script_of(sql.to_owned(), access).expect("a script");
        assert_eq!(of(DatabaseAccess::Owner).len(), 2);
        assert!(format!("{:?}", of(DatabaseAccess::Owner)).contains("plinth_roles"));
        assert!(!format!("{:?}", of(DatabaseAccess::Reader)).contains("plinth_roles"));
    }

    #[test]
    fn commands_of_psql_are_explained() {
        let error = script_of("select 1;\n\\d films".to_owned(), DatabaseAccess::Owner);
        assert!(
            error
                .expect_err("refused")
                .to_string()
                .contains("\\d films")
        );
    }

    #[test]
    fn passwords_are_not_audited() {
        assert!(!audited("alter role x PassWord 'secret'").contains("secret"));
        assert_eq!(audited("select 1"), "select 1");
    }
}
