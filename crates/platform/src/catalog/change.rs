//! One change of a project's schema: a transaction of the owner, shown or run, and recorded on wish
//! (console contract F41).

use plinth_catalog::{
    objects::Object,
    read::{self, Scope},
    statements::{Statements, to_script},
};
use plinth_db::QuotedLiteral;
use plinth_project::{DatabaseAccess, OperatorSession, Project, ProjectName};
use postgres_types::Type;
use serde_json::json;
use tokio_postgres::Client;

use super::{CatalogError, Created, DatabaseFailure};
use crate::{
    Platform, PlatformError,
    api::Operator,
    owner_sql::rewrite_statement,
    user_migrations::{check_migration_name, record_statements},
};

/// While a change waits for a lock, everybody else waits for the change.
const LOCK_TIMEOUT: &str = "5s";

/// Schemas that belong to PostgreSQL or to Plinth alone. What is in those of the services is guarded
/// by its owners: people put policies on `storage.objects` and triggers on `auth.users`.
const SYSTEM_SCHEMAS: [&str; 5] = [
    "information_schema",
    "pg_catalog",
    "pg_toast",
    "plinth",
    "plinth_roles",
];

/// What is done with the statements of a change.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangeOptions {
    /// They are shown only.
    pub(crate) dry_run: bool,
    /// They are recorded under this name.
    pub(crate) migration: Option<String>,
}

/// A change in progress. Without [`SchemaChange::finish`] nothing remains of it.
pub(crate) struct SchemaChange {
    pub(super) platform: Platform,
    pub(super) operator: Operator,
    pub(super) project: Project,
    pub(super) session: OperatorSession,
    pub(super) options: ChangeOptions,
}

/// What became of a change.
pub(crate) enum Outcome<T> {
    /// Its statements, which were not run.
    Shown(Statements),
    /// The object as it is now.
    Done(T),
}

impl SchemaChange {
    /// Begins a transaction.
    pub(crate) async fn begin(
        platform: &Platform,
        operator: &Operator,
        name: &ProjectName,
        options: ChangeOptions,
    ) -> Result<Self, CatalogError> {
        let reference = platform.reference_of(name);
        if operator.database_access(&reference) != DatabaseAccess::Owner {
            let reason = "Your role may not change the schema of this project";
            return Err(PlatformError::Forbidden(reason.to_owned()).into());
        }
        if let Some(name) = &options.migration {
            check_migration_name(name)?;
        }
        let project = platform.open(name).await?;
        let session = project
            .db
            .session_as_operator(DatabaseAccess::Owner)
            .await?;
        let change = Self {
            platform: platform.clone(),
            operator: operator.clone(),
            project,
            session,
            options,
        };
        change.begin_transaction().await?;
        Ok(change)
    }

    pub(super) async fn begin_transaction(&self) -> Result<(), CatalogError> {
        let timeout = QuotedLiteral::new(LOCK_TIMEOUT);
        let sql = format!("begin; set local lock_timeout = {timeout}");
        Ok(self.session.batch_execute(&sql).await?)
    }

    /// The session, in the transaction.
    pub(crate) fn client(&self) -> &Client {
        &self.session
    }

    /// An object that may be changed. `extension` is the one that it belongs to.
    pub(crate) async fn object<T: Object>(
        &self,
        id: u32,
        extension: impl FnOnce(&T) -> Option<&str>,
    ) -> Result<T, CatalogError> {
        let object: T = find(self.client(), id).await?;
        if let Some(extension) = extension(&object) {
            return Err(of_extension(T::KIND, extension));
        }
        if let Some(schema) = object.schema() {
            self.require_user_schema(schema)?;
        }
        Ok(object)
    }

    /// Refuses schemas in which nobody has anything to change.
    pub(crate) fn require_user_schema(&self, schema: &str) -> Result<(), CatalogError> {
        let is_system = SYSTEM_SCHEMAS.contains(&schema) || schema.starts_with("pg_");
        if is_system {
            let reason = format!("The schema {schema} belongs to the system and cannot be changed");
            return Err(PlatformError::Forbidden(reason).into());
        }
        Ok(())
    }

    /// Objects that are read along, within the transaction.
    pub(crate) async fn objects<T: Object>(
        &self,
        ids: Option<Vec<u32>>,
    ) -> Result<Vec<T>, CatalogError> {
        let scope = Scope {
            with_system: true,
            ids,
            only_readable: false,
        };
        Ok(read::list(self.client(), &scope).await?)
    }

    /// Runs the statements and returns what `refreshed` reads afterwards, in the same transaction.
    pub(crate) async fn finish<T>(
        self,
        what: &str,
        statements: Statements,
        refreshed: impl AsyncFnOnce(&Client) -> Result<T, CatalogError>,
    ) -> Result<Outcome<T>, CatalogError> {
        if self.options.dry_run {
            return Ok(Outcome::Shown(statements));
        }
        for statement in &statements {
            self.run(statement).await?;
        }
        let object = refreshed(self.client()).await?;
        if !statements.is_empty() {
            self.record(&statements).await?;
            self.session.batch_execute("commit").await?;
            self.audit(what, &statements).await;
        }
        Ok(Outcome::Done(object))
    }

    /// The same for what is dropped: as it was.
    pub(crate) async fn finish_with<T>(
        self,
        what: &str,
        statements: Statements,
        object: T,
    ) -> Result<Outcome<T>, CatalogError> {
        self.finish(what, statements, async |_: &Client| Ok(object))
            .await
    }

    /// Finishes a change of something that has just been made, which is read by its new oid.
    pub(crate) async fn finish_created<T: Object>(
        self,
        what: &str,
        statements: Statements,
        created: Created<'_>,
    ) -> Result<Outcome<T>, CatalogError> {
        self.finish(what, statements, async |client: &Client| {
            find(client, created.find(client).await?).await
        })
        .await
    }

    /// Finishes a change of an object whose oid stays.
    pub(crate) async fn finish_changed<T: Object>(
        self,
        what: &str,
        statements: Statements,
        id: u32,
    ) -> Result<Outcome<T>, CatalogError> {
        self.finish(what, statements, async |client: &Client| {
            find(client, id).await
        })
        .await
    }

    /// Runs one statement. More than one would be an error of PostgreSQL: a part of it cannot end it.
    pub(super) async fn run(&self, statement: &str) -> Result<(), CatalogError> {
        let rewritten = rewrite_statement(statement);
        let sql = rewritten.as_deref().unwrap_or(statement);
        let typed: &[(&(dyn postgres_types::ToSql + Sync), Type)] = &[];
        match self.client().query_typed(sql, typed).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let mut failed = CatalogError::from(error);
                if let CatalogError::Rejected(failure) = &mut failed {
                    explain(failure, statement);
                }
                Err(failed)
            }
        }
    }

    pub(super) async fn record(&self, statements: &[String]) -> Result<(), CatalogError> {
        let Some(name) = &self.options.migration else {
            return Ok(());
        };
        if statements.iter().any(|statement| has_password(statement)) {
            let reason = "A password must not be recorded as a migration";
            return Err(PlatformError::Invalid(reason.to_owned()).into());
        }
        let by = self.operator.name();
        record_statements(self.client(), name, statements, by).await?;
        Ok(())
    }

    pub(super) async fn audit(&self, what: &str, statements: &[String]) {
        let shown: Vec<String> = statements
            .iter()
            .map(|statement| {
                if has_password(statement) {
                    format!("{what} with a password")
                } else {
                    statement.clone()
                }
            })
            .collect();
        let details = json!({
            "what": what,
            "sql": to_script(&shown),
            "migration": self.options.migration,
        });
        let reference = self.project.reference();
        self.platform
            .audit(&self.operator, Some(reference), "schema.change", details)
            .await;
    }
}

fn has_password(statement: &str) -> bool {
    (statement.starts_with("create role ") || statement.starts_with("alter role "))
        && statement.contains(" password ")
}

/// What may help beyond PostgreSQL's own words.
fn explain(failure: &mut DatabaseFailure, statement: &str) {
    failure.statement = Some(statement.to_owned()).filter(|statement| !has_password(statement));
    let hint = match failure.code.as_str() {
        "55P03" => "Another session holds a lock on the object; end it, or try again later.",
        "2BP01" => "Drop the dependent objects first, or drop with `cascade`.",
        _ => return,
    };
    failure.hint.get_or_insert_with(|| hint.to_owned());
}

async fn find<T: Object>(client: &Client, id: u32) -> Result<T, CatalogError> {
    let found = read::find(client, id, false).await?;
    Ok(found.ok_or_else(|| no_object::<T>(id))?)
}

/// In postgres-meta's words.
pub(crate) fn no_object<T: Object>(id: impl std::fmt::Display) -> PlatformError {
    PlatformError::NotFound(format!("Cannot find a {} with ID {id}", T::KIND))
}

fn of_extension(kind: &str, extension: &str) -> CatalogError {
    let reason = format!("The {kind} belongs to the extension {extension} and cannot be changed");
    PlatformError::Forbidden(reason).into()
}
