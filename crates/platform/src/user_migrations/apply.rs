//! Running migration files.

use plinth_project::ProjectName;
use serde_json::json;
use tokio_postgres::{Client, error::ErrorPosition};

use super::{MigrationFile, Statement, shared_role::run_statement, split};
use crate::{Platform, PlatformError};

/// A row of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedMigration {
    /// The digits of the file's name.
    pub version: String,
    /// The rest of it.
    pub name: Option<String>,
}

/// A statement that PostgreSQL rejected. Its file was rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationFailure {
    /// The file.
    pub file: String,
    /// Which of its statements, from 1.
    pub statement: usize,
    /// The line of the error position, else the first line of the statement.
    pub line: usize,
    /// Such as `42P01`.
    pub sqlstate: String,
    /// PostgreSQL's message.
    pub message: String,
    /// PostgreSQL's detail.
    pub detail: Option<String>,
    /// PostgreSQL's hint, or ours.
    pub hint: Option<String>,
}

impl std::fmt::Display for MigrationFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            file,
            line,
            statement,
            message,
            sqlstate,
            ..
        } = self;
        write!(
            f,
            "{file}:{line}: {message} (SQLSTATE {sqlstate}, statement {statement})"
        )?;
        if let Some(detail) = &self.detail {
            write!(f, "\n  {detail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  Hint: {hint}")?;
        }
        Ok(())
    }
}

impl MigrationFailure {
    /// The same as JSON.
    pub(crate) fn details(&self) -> serde_json::Value {
        json!({
            "file": self.file,
            "statement": self.statement,
            "line": self.line,
            "sqlstate": self.sqlstate,
            "message": self.message,
            "detail": self.detail,
            "hint": self.hint,
        })
    }

    /// `None` where the statement is not to blame: the connection is gone, or the server is short of
    /// disk or connections. Memory for locks is short where one transaction needs too many.
    pub(super) fn new(
        file: &str,
        number: usize,
        statement: &Statement<'_>,
        error: &tokio_postgres::Error,
    ) -> Option<Self> {
        let db = error.as_db_error()?;
        let code = db.code().code();
        if matches!(code, "53000" | "53100" | "53300") {
            return None;
        }
        let offset = match db.position() {
            Some(ErrorPosition::Original(position)) => (*position as usize).saturating_sub(1),
            _ => 0,
        };
        let before: String = statement.text.chars().take(offset).collect();
        let line = match offset {
            0 => statement.line,
            // The text begins with its comments; `line` is that of the first word.
            _ => first_line(statement) + before.matches('\n').count(),
        };
        let own_hint = (db.code().code() == "25001").then(|| {
            "start the file with the line `-- plinth: no-transaction` to run it outside one"
                .to_owned()
        });
        Some(Self {
            file: file.to_owned(),
            statement: number,
            line,
            sqlstate: db.code().code().to_owned(),
            message: db.message().to_owned(),
            detail: db.detail().map(str::to_owned),
            hint: db.hint().map(str::to_owned).or(own_hint),
        })
    }
}

/// The line on which the statement's text, comments included, begins.
fn first_line(statement: &Statement<'_>) -> usize {
    let own = split(statement.text);
    let comment_lines = own.first().map_or(0, |first| first.line - 1);
    statement.line - comment_lines
}

impl Platform {
    /// The migration history, by version.
    pub async fn applied_migrations(
        &self,
        name: &ProjectName,
    ) -> Result<Vec<AppliedMigration>, PlatformError> {
        let client = self.open(name).await?.db.as_owner().await?;
        let sql =
            "select version, name from supabase_migrations.schema_migrations order by version";
        let rows = client.query(sql, &[]).await?;
        Ok(rows
            .iter()
            .map(|row| AppliedMigration {
                version: row.get(0),
                name: row.get(1),
            })
            .collect())
    }

    /// Applies one file, unless it is in the history. Returns notices to show.
    pub async fn apply_migration(
        &self,
        name: &ProjectName,
        file: &MigrationFile,
    ) -> Result<Vec<String>, PlatformError> {
        let mut owner = self.open(name).await?.db.as_owner().await?;
        let lock = "select pg_advisory_lock(hashtext('supabase_migrations'))";
        owner.batch_execute(lock).await?;
        if is_applied(&owner, &file.version).await? {
            return Ok(Vec::new());
        }
        if file.runs_without_transaction() {
            return run_file(&owner, file, false).await;
        }
        let transaction = owner.transaction().await?;
        let notices = run_file(transaction.client(), file, true).await?;
        transaction
            .commit()
            .await
            .map_err(|error| commit_error(file, &split(&file.sql), error))?;
        Ok(notices)
    }
}

/// Runs a file in a session of the owner and records it. Returns notices to show.
pub(crate) async fn run_file(
    client: &Client,
    file: &MigrationFile,
    is_in_transaction: bool,
) -> Result<Vec<String>, PlatformError> {
    let statements = split(&file.sql);
    let own = without_transaction_control(file, &statements)?;
    let notices = run_statements(client, file, &own, is_in_transaction).await?;
    record(client, file, &statements).await?;
    Ok(notices)
}

/// A migration with what it ran, as the history has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredMigration {
    pub(crate) version: String,
    pub(crate) name: Option<String>,
    pub(crate) statements: Vec<String>,
}

impl StoredMigration {
    /// The file that it came from, or one like it.
    pub(crate) fn to_file(&self) -> MigrationFile {
        // A statement may end with a comment.
        let statements = self.statements.iter();
        MigrationFile {
            version: self.version.clone(),
            name: self.name.clone().unwrap_or_default(),
            sql: statements.map(|sql| format!("{sql}\n;\n")).collect(),
        }
    }
}

/// The whole history, by version.
pub(crate) async fn stored_migrations(
    client: &Client,
) -> Result<Vec<StoredMigration>, PlatformError> {
    let sql = "select version, name, coalesce(statements, '{}') as statements
               from supabase_migrations.schema_migrations order by version";
    let rows = client.query(sql, &[]).await?;
    let stored = rows.iter().map(|row| StoredMigration {
        version: row.get("version"),
        name: row.get("name"),
        statements: row.get("statements"),
    });
    Ok(stored.collect())
}

/// The statements to run, with their numbers from 1.
fn without_transaction_control<'a>(
    file: &MigrationFile,
    statements: &'a [Statement<'a>],
) -> Result<Vec<(usize, &'a Statement<'a>)>, PlatformError> {
    let mut own = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        match transaction_control(statement.code) {
            Control::None => own.push((index + 1, statement)),
            Control::Skip => {}
            Control::Reject => {
                return Err(PlatformError::MigrationFailed(Box::new(MigrationFailure {
                    file: file.to_string(),
                    statement: index + 1,
                    line: statement.line,
                    sqlstate: "25000".to_owned(),
                    message: "a migration runs in one transaction, which it cannot end itself"
                        .to_owned(),
                    detail: None,
                    hint: Some("remove this statement, or split the file".to_owned()),
                })));
            }
        }
    }
    Ok(own)
}

/// How a statement that begins or ends a transaction is treated.
#[derive(Debug, PartialEq, Eq)]
enum Control {
    /// It is no such statement.
    None,
    /// The file runs in a transaction anyway: its own BEGIN and COMMIT are redundant.
    Skip,
    /// It would end our transaction in the middle of the file.
    Reject,
}

fn transaction_control(code: &str) -> Control {
    let words: Vec<String> = code
        .split_whitespace()
        .map(str::to_ascii_lowercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["begin", ..] | ["start", "transaction", ..] => Control::Skip,
        ["commit" | "end"] | ["commit" | "end", "transaction" | "work"] => Control::Skip,
        ["rollback", "to", ..] | ["rollback", "transaction" | "work", "to", ..] => Control::None,
        ["rollback" | "abort" | "commit" | "end", ..] | ["prepare", "transaction", ..] => {
            Control::Reject
        }
        _ => Control::None,
    }
}

async fn run_statements(
    client: &Client,
    file: &MigrationFile,
    statements: &[(usize, &Statement<'_>)],
    is_in_transaction: bool,
) -> Result<Vec<String>, PlatformError> {
    let mut notices = Vec::new();
    for (number, statement) in statements {
        match run_statement(client, statement, is_in_transaction).await {
            Ok(notice) => notices.extend(notice),
            Err(error) => {
                let failure = MigrationFailure::new(&file.to_string(), *number, statement, &error);
                return Err(match failure {
                    Some(failure) => PlatformError::MigrationFailed(Box::new(failure)),
                    None => error.into(),
                });
            }
        }
    }
    Ok(notices)
}

/// Deferred constraints fail at COMMIT; the error is reported for the last statement.
fn commit_error(
    file: &MigrationFile,
    statements: &[Statement<'_>],
    error: tokio_postgres::Error,
) -> PlatformError {
    let last = statements.last();
    let failure = last
        .and_then(|last| MigrationFailure::new(&file.to_string(), statements.len(), last, &error));
    match failure {
        Some(failure) => PlatformError::MigrationFailed(Box::new(failure)),
        None => error.into(),
    }
}

async fn is_applied(client: &Client, version: &str) -> Result<bool, PlatformError> {
    let sql =
        "select exists (select from supabase_migrations.schema_migrations where version = $1)";
    Ok(client.query_one(sql, &[&version]).await?.get(0))
}

async fn record(
    client: &Client,
    file: &MigrationFile,
    statements: &[Statement<'_>],
) -> Result<(), PlatformError> {
    // The file may have changed role and search path.
    client
        .batch_execute("reset role; reset search_path")
        .await?;
    let texts: Vec<&str> = statements.iter().map(|statement| statement.text).collect();
    let sql = "insert into supabase_migrations.schema_migrations (version, name, statements)
               values ($1, $2, $3)";
    client
        .execute(sql, &[&file.version, &file.name, &texts])
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_transaction_control_is_skipped() {
        for text in [
            "begin",
            "BEGIN isolation level serializable",
            "Start Transaction",
            "commit work",
        ] {
            assert_eq!(transaction_control(text), Control::Skip, "{text}");
        }
        for text in [
            "rollback",
            "abort",
            "commit and chain",
            "prepare transaction 'x'",
        ] {
            assert_eq!(transaction_control(text), Control::Reject, "{text}");
        }
        for text in ["rollback to savepoint a", "savepoint a", "select 1"] {
            assert_eq!(transaction_control(text), Control::None, "{text}");
        }
    }
}
