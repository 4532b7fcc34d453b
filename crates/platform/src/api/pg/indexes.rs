//! `/pg/{ref}/indexes`: postgres-meta lists them; changes are ours alone. Concurrent ones are jobs.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use plinth_catalog::{
    objects::{Index, Table},
    statements::{IndexChanges, NewIndex, Relation, Statements},
};
use serde::Serialize;
use tokio_postgres::Client;
use uuid::Uuid;

use super::{
    asked::{Asked, ChangeParams, ChangeResult, Changed, ListParams, PgBody, answer},
    error::PgFailure,
    lists,
};
use crate::{
    Platform,
    catalog::{Created, Outcome, SchemaChange},
};

fn extension(index: &Index) -> Option<&str> {
    index.extension.as_deref()
}

/// Work that goes on after the answer.
#[derive(Debug, Serialize)]
pub(super) struct StartedJob {
    /// The id of the job.
    job: Uuid,
}

/// `GET /pg/{ref}/indexes`.
pub(super) async fn list(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::list::<Index>(platform, asked).await
}

/// `GET /pg/{ref}/indexes/{id}`.
pub(super) async fn show(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Json<Index>, PgFailure> {
    lists::show::<Index>(platform, asked).await
}

/// `POST /pg/{ref}/indexes`: 202 with a job, or the index if it is not built concurrently.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewIndex>,
) -> Result<Response, PgFailure> {
    let change = asked.begin(&platform).await?;
    let table = change
        .object(new.table_id, |table: &Table| table.extension.as_deref())
        .await?;
    let statements = new.create(Relation::new(&table.schema, &table.name))?;
    if new.concurrently {
        return as_job(change, "create an index", statements, table.id).await;
    }
    let created = Created::IndexOf { table: table.id };
    let outcome = change.finish_created::<Index>("create an index", statements, created);
    Ok(answer(outcome.await?)?.into_response())
}

async fn as_job(
    change: SchemaChange,
    what: &'static str,
    statements: Statements,
    table: u32,
) -> Result<Response, PgFailure> {
    let outcome = change.finish_as_job(what, statements, table).await?;
    Ok(match outcome {
        Outcome::Shown(statements) => {
            let shown: Changed<StartedJob> = Outcome::Shown(statements).into();
            Json(shown).into_response()
        }
        Outcome::Done(job) => (StatusCode::ACCEPTED, Json(StartedJob { job })).into_response(),
    })
}

/// `PATCH /pg/{ref}/indexes/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<IndexChanges>,
) -> ChangeResult<Index> {
    let id = asked.oid::<Index>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = changes.alter(&old)?;
    let outcome = change.finish_changed("alter an index", statements, id);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/indexes/{id}`: concurrently, as a job, unless `concurrently=false` or `cascade`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> Result<Response, PgFailure> {
    let id = asked.oid::<Index>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let cascade = asked.params.cascade;
    let is_concurrent = asked.params.concurrently.unwrap_or(!cascade);
    let statements = old.drop_sql(is_concurrent, cascade)?;
    if is_concurrent {
        return as_job(change, "drop an index", statements, old.table_id).await;
    }
    let outcome = change.finish_with("drop an index", statements, old);
    Ok(answer(outcome.await?)?.into_response())
}

/// `POST /pg/{ref}/indexes/{id}/rebuild`: concurrently, as a job, unless `concurrently=false`.
pub(super) async fn rebuild(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> Result<Response, PgFailure> {
    let id = asked.oid::<Index>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let is_concurrent = asked.params.concurrently.unwrap_or(true);
    let statements = old.rebuild_sql(is_concurrent);
    if is_concurrent {
        return as_job(change, "rebuild an index", statements, old.table_id).await;
    }
    let outcome = change.finish("rebuild an index", statements, async |client: &Client| {
        let found = plinth_catalog::read::find::<Index>(client, id, false).await?;
        Ok(found)
    });
    Ok(answer(outcome.await?)?.into_response())
}
