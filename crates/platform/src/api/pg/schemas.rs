//! `/pg/{ref}/schemas`.

use axum::{extract::State, response::Response};
use plinth_catalog::{
    objects::Schema,
    statements::{NewSchema, SchemaChanges},
};

use super::{
    asked::{Asked, ChangeParams, ChangeResult, ListParams, PgBody, answer},
    error::PgFailure,
    lists,
};
use crate::{Platform, catalog::Created};

/// `GET /pg/{ref}/schemas`.
pub(super) async fn list(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::list::<Schema>(platform, asked).await
}

/// `GET /pg/{ref}/schemas/{id}`.
pub(super) async fn show(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<axum::Json<Schema>, PgFailure> {
    lists::show::<Schema>(platform, asked).await
}

/// `POST /pg/{ref}/schemas`.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewSchema>,
) -> ChangeResult<Schema> {
    let change = asked.begin(&platform).await?;
    change.require_user_schema(&new.name)?;
    let statements = new.create()?;
    let created = Created::Schema(&new.name);
    let outcome = change.finish_created("create a schema", statements, created);
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/schemas/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<SchemaChanges>,
) -> ChangeResult<Schema> {
    let id = asked.oid::<Schema>()?;
    let change = asked.begin(&platform).await?;
    let old: Schema = change
        .object(id, |schema: &Schema| schema.extension.as_deref())
        .await?;
    let statements = changes.alter(&old)?;
    let outcome = change.finish_changed("alter a schema", statements, id);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/schemas/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Schema> {
    let id = asked.oid::<Schema>()?;
    let change = asked.begin(&platform).await?;
    let old: Schema = change
        .object(id, |schema: &Schema| schema.extension.as_deref())
        .await?;
    let statements = old.drop_sql(asked.params.cascade);
    let outcome = change.finish_with("drop a schema", statements, old);
    answer(outcome.await?)
}
