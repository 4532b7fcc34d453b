//! Running migration files.

use plinth_db::describe;
use plinth_project::{Project, ProjectName};
use serde_json::json;
use tokio_postgres::{Client, error::ErrorPosition};

use super::{MigrationFile, Statement, api_role, api_role::MovedStatement, split};
use crate::{Platform, PlatformError};

/// A row of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedMigration {
    /// The digits of the file's name.
    pub version: String,
    /// The rest of it.
    pub name: Option<String>,
}

/// A statement that Postgres refused. Nothing of its file remains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationFailure {
    /// The file.
    pub file: String,
    /// Which of its statements, from 1.
    pub statement: usize,
    /// The line in the file that Postgres points at, else that on which the statement starts.
    pub line: usize,
    /// As in `42P01`.
    pub sqlstate: String,
    /// Postgres' words.
    pub message: String,
    /// More of them.
    pub detail: Option<String>,
    /// What may help.
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

    pub(super) fn new(
        file: &str,
        number: usize,
        statement: &Statement<'_>,
        error: &tokio_postgres::Error,
    ) -> Option<Self> {
        let db = error.as_db_error()?;
        let offset = match db.position() {
            Some(ErrorPosition::Original(position)) => (*position as usize).saturating_sub(1),
            _ => 0,
        };
        let before: String = statement.text.chars().take(offset).collect();
        let line = match offset {
            0 => statement.line,
            // The text starts with its comments, the line is that of the first word.
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
    /// The history, in order.
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

    /// Applies one file, unless the history has it. Tells the notices worth showing.
    pub async fn apply_migration(
        &self,
        name: &ProjectName,
        file: &MigrationFile,
    ) -> Result<Vec<String>, PlatformError> {
        let project = self.open(name).await?;
        let database = self.load_project(name).await?.database;
        let mut owner = project.db.as_owner().await?;
        let lock = "select pg_advisory_lock(hashtext('supabase_migrations'))";
        owner.batch_execute(lock).await?;
        if is_applied(&owner, &file.version).await? {
            return Ok(Vec::new());
        }
        let statements = split(&file.sql);
        let mut plan = Plan::new(file, &statements, &database)?;
        if file.wants_no_transaction() {
            run_statements(&owner, file, &plan.own).await?;
            record(&owner, file, &statements).await?;
        } else {
            let transaction = owner.transaction().await?;
            run_statements(transaction.client(), file, &plan.own).await?;
            record(transaction.client(), file, &statements).await?;
            transaction
                .commit()
                .await
                .map_err(|error| failed_at_end(file, &statements, error))?;
        }
        run_for_api_roles(&project, &mut plan).await?;
        Ok(plan.notices)
    }
}

/// What the file's owner runs, and what the administrating role runs afterwards.
struct Plan<'a> {
    own: Vec<(usize, &'a Statement<'a>)>,
    for_api_roles: Vec<MovedStatement>,
    notices: Vec<String>,
}

impl<'a> Plan<'a> {
    fn new(
        file: &MigrationFile,
        statements: &'a [Statement<'a>],
        database: &str,
    ) -> Result<Self, PlatformError> {
        let mut plan = Self {
            own: Vec::new(),
            for_api_roles: Vec::new(),
            notices: Vec::new(),
        };
        for (index, statement) in statements.iter().enumerate() {
            if let Some(moved) = api_role::in_database(statement.code, database) {
                plan.for_api_roles.push(moved);
                continue;
            }
            match transaction_control(statement.code) {
                Control::None => plan.own.push((index + 1, statement)),
                Control::LeftOut => {}
                Control::Refused => {
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
        Ok(plan)
    }
}

/// What becomes of a statement that begins or ends a transaction.
#[derive(Debug, PartialEq, Eq)]
enum Control {
    /// It is none.
    None,
    /// The file runs in a transaction of ours anyway: its own BEGIN and COMMIT say nothing new.
    LeftOut,
    /// It would end our transaction with parts of the file inside and parts outside.
    Refused,
}

fn transaction_control(code: &str) -> Control {
    let words: Vec<String> = code
        .split_whitespace()
        .map(str::to_ascii_lowercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["begin", ..] | ["start", "transaction", ..] => Control::LeftOut,
        ["commit" | "end"] | ["commit" | "end", "transaction" | "work"] => Control::LeftOut,
        ["rollback", "to", ..] | ["rollback", "transaction" | "work", "to", ..] => Control::None,
        ["rollback" | "abort" | "commit" | "end", ..] | ["prepare", "transaction", ..] => {
            Control::Refused
        }
        _ => Control::None,
    }
}

async fn run_statements(
    client: &Client,
    file: &MigrationFile,
    statements: &[(usize, &Statement<'_>)],
) -> Result<(), PlatformError> {
    for (number, statement) in statements {
        if let Err(error) = client.batch_execute(statement.text).await {
            let failure = MigrationFailure::new(&file.to_string(), *number, statement, &error);
            return Err(match failure {
                Some(failure) => PlatformError::MigrationFailed(Box::new(failure)),
                None => error.into(),
            });
        }
    }
    Ok(())
}

/// Deferred constraints speak up only at COMMIT, when no single statement is to blame.
fn failed_at_end(
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
    // The file may have changed these; the history stands where it always stands.
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

async fn run_for_api_roles(project: &Project, plan: &mut Plan<'_>) -> Result<(), PlatformError> {
    if plan.for_api_roles.is_empty() {
        return Ok(());
    }
    let admin = project.db.as_admin().await?;
    for moved in &plan.for_api_roles {
        let carried_out = match is_everybodys(&admin, &moved.setting).await? {
            // The extended protocol takes one statement only, whatever the text says.
            true => admin
                .execute(&moved.sql, &[])
                .await
                .map_err(|error| describe(&error)),
            false => Err(format!(
                "{} is not a setting that users may make",
                moved.setting
            )),
        };
        let sql = &moved.sql;
        plan.notices.push(match carried_out {
            Ok(_) => format!("carried out for this project only: {sql}"),
            Err(reason) => format!("not carried out: {sql}: {reason}"),
        });
    }
    // No event trigger sees a role change, and services that read such settings listen here.
    admin.batch_execute("notify pgrst, 'reload config'").await?;
    Ok(())
}

/// Settings of one's own (`pgrst.…`) and those that Postgres lets every session change.
async fn is_everybodys(admin: &Client, setting: &str) -> Result<bool, PlatformError> {
    if setting == "all" {
        return Ok(true);
    }
    let sql = "select context = 'user' from pg_catalog.pg_settings where name = $1";
    let known = admin
        .query_opt(sql, &[&setting])
        .await?
        .map(|row| row.get::<_, bool>(0));
    Ok(known.unwrap_or_else(|| setting.contains('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_transaction_control_is_left_out() {
        for text in [
            "begin",
            "BEGIN isolation level serializable",
            "Start Transaction",
            "commit work",
        ] {
            assert_eq!(transaction_control(text), Control::LeftOut, "{text}");
        }
        for text in [
            "rollback",
            "abort",
            "commit and chain",
            "prepare transaction 'x'",
        ] {
            assert_eq!(transaction_control(text), Control::Refused, "{text}");
        }
        for text in ["rollback to savepoint a", "savepoint a", "select 1"] {
            assert_eq!(transaction_control(text), Control::None, "{text}");
        }
    }
}
