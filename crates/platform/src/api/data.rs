//! `/platform/projects/{ref}/data/…`: rows of tables and views (console contract N52–N54).

use axum::{Json, extract::State};
use plinth_project::{DatabaseAccess, Project, ProjectRef};
use plinth_query::{
    CellRequest, CellValue, Count, CountRequest, DeleteRequest, InsertRequest, Page, PageRequest,
    QueryError, Rejection, RelationName, UpdateRequest, WrittenRows,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Operator,
    body::{Body, Segments},
    subject::{RowAccess, Subject, begin},
};
use crate::{Platform, PlatformError};

/// A request, and as whom it is made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WithSubject<T> {
    /// What is asked for.
    #[serde(flatten)]
    pub(super) request: T,
    /// As whom; as the operator if absent.
    #[serde(default, rename = "as")]
    pub(super) subject: Option<Subject>,
}

/// An open project and the operator's access to it.
pub(super) struct Opened {
    pub(super) project: Project,
    pub(super) reference: ProjectRef,
    pub(super) access: DatabaseAccess,
}

/// Opens the project of a path.
pub(super) async fn open(
    platform: &Platform,
    operator: &Operator,
    text: &str,
) -> Result<Opened, PlatformError> {
    let name = operator.project_by_name(platform, text)?;
    let project = platform.open(&name).await?;
    let reference = platform.reference_of(&name);
    let access = operator.database_access(&reference);
    Ok(Opened {
        project,
        reference,
        access,
    })
}

/// `POST …/data/query`: a page of rows.
pub(super) async fn query(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<WithSubject<PageRequest>>,
) -> Result<Json<Page>, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let subject = body.subject.as_ref();
    let mut tx = begin(&opened.project, opened.access, subject, RowAccess::Read).await?;
    let page = plinth_query::page(&mut tx, &body.request).await;
    end(tx.rollback().await);
    Ok(Json(page?))
}

/// `POST …/data/cell`: a cell that a page cut.
pub(super) async fn cell(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<WithSubject<CellRequest>>,
) -> Result<Json<CellValue>, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let subject = body.subject.as_ref();
    let mut tx = begin(&opened.project, opened.access, subject, RowAccess::Read).await?;
    let cell = plinth_query::read_cell(&mut tx, &body.request).await;
    end(tx.rollback().await);
    Ok(Json(cell?))
}

/// `POST …/data/count`: how many rows there are.
pub(super) async fn count(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<WithSubject<CountRequest>>,
) -> Result<Json<Count>, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let subject = body.subject.as_ref();
    let mut tx = begin(&opened.project, opened.access, subject, RowAccess::Read).await?;
    let count = plinth_query::count(&mut tx, &body.request).await;
    end(tx.rollback().await);
    Ok(Json(count?))
}

/// `POST …/data/insert`: new rows.
pub(super) async fn insert(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<WithSubject<InsertRequest>>,
) -> Result<Json<WrittenRows>, PlatformError> {
    let write = Write::begin(platform, operator, &text, body.subject.as_ref()).await?;
    let mut tx = write.transaction(body.subject.as_ref()).await?;
    let written = plinth_query::insert(&mut tx, &body.request).await;
    let name = &body.request.relation;
    write.finish(tx, written, "data.insert", name).await
}

/// `POST …/data/update`: new values of rows.
pub(super) async fn update(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<WithSubject<UpdateRequest>>,
) -> Result<Json<WrittenRows>, PlatformError> {
    let write = Write::begin(platform, operator, &text, body.subject.as_ref()).await?;
    let mut tx = write.transaction(body.subject.as_ref()).await?;
    let written = plinth_query::update(&mut tx, &body.request).await;
    let name = &body.request.relation;
    write.finish(tx, written, "data.update", name).await
}

/// `POST …/data/delete`: removes rows.
pub(super) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<WithSubject<DeleteRequest>>,
) -> Result<Json<WrittenRows>, PlatformError> {
    let write = Write::begin(platform, operator, &text, body.subject.as_ref()).await?;
    let mut tx = write.transaction(body.subject.as_ref()).await?;
    let written = plinth_query::delete(&mut tx, &body.request).await;
    let name = &body.request.relation;
    write.finish(tx, written, "data.delete", name).await
}

/// A change of rows.
struct Write {
    platform: Platform,
    operator: Operator,
    opened: Opened,
    role: Option<String>,
}

impl Write {
    async fn begin(
        platform: Platform,
        operator: Operator,
        text: &str,
        subject: Option<&Subject>,
    ) -> Result<Self, PlatformError> {
        let opened = open(&platform, &operator, text).await?;
        Ok(Self {
            platform,
            operator,
            opened,
            role: subject.map(|subject| subject.role.clone()),
        })
    }

    async fn transaction(
        &self,
        subject: Option<&Subject>,
    ) -> Result<plinth_project::RowTransaction, PlatformError> {
        let Opened {
            project, access, ..
        } = &self.opened;
        begin(project, *access, subject, RowAccess::Write).await
    }

    /// Commits, and writes to the audit log what was changed (never the values).
    async fn finish(
        self,
        tx: plinth_project::RowTransaction,
        written: Result<WrittenRows, QueryError>,
        action: &str,
        relation: &RelationName,
    ) -> Result<Json<WrittenRows>, PlatformError> {
        let written = match written {
            Ok(written) => written,
            Err(error) => {
                end(tx.rollback().await);
                return Err(self.with_columns(error, relation).await);
            }
        };
        // Constraints may be deferred to the end.
        if let Err(error) = tx.commit().await {
            return Err(self.with_columns(error.into(), relation).await);
        }
        let details = json!({
            "schema": relation.schema,
            "table": relation.name,
            "rows": written.affected,
            "as": self.role,
        });
        let reference = &self.opened.reference;
        self.platform
            .audit(&self.operator, Some(reference), action, details)
            .await;
        Ok(Json(written))
    }

    /// An error that names a constraint gets its columns too (console contract N55).
    async fn with_columns(&self, error: QueryError, relation: &RelationName) -> PlatformError {
        let QueryError::Rejected(mut rejection) = error else {
            return error.into();
        };
        if let Ok(columns) = self.constraint_columns(&rejection, relation).await {
            rejection.columns = columns;
        }
        QueryError::Rejected(rejection).into()
    }

    async fn constraint_columns(
        &self,
        rejection: &Rejection,
        relation: &RelationName,
    ) -> Result<Vec<String>, PlatformError> {
        let table = RelationName {
            schema: rejection.schema.clone().unwrap_or(relation.schema.clone()),
            name: rejection.table.clone().unwrap_or(relation.name.clone()),
        };
        let constraint = match &rejection.constraint {
            Some(constraint) if rejection.columns.is_empty() => constraint,
            _ => return Ok(rejection.columns.clone()),
        };
        let Opened {
            project, access, ..
        } = &self.opened;
        let mut tx = begin(project, *access, None, RowAccess::Read).await?;
        let columns = plinth_query::constraint_columns(&mut tx, &table, constraint).await?;
        end(tx.rollback().await);
        Ok(columns)
    }
}

/// A transaction that has nothing to keep: the pool discards a connection that fails.
pub(super) fn end(ended: Result<(), plinth_db::DbError>) {
    if let Err(error) = ended {
        tracing::debug!("rolling back failed: {error}");
    }
}
