//! `/pg/{ref}/constraints`, which are ours alone: postgres-meta shows constraints as members of tables
//! and columns.

use axum::{extract::State, response::Response};
use plinth_catalog::{
    objects::{Constraint, Table},
    statements::{ConstraintChanges, NewConstraint, NewConstraintKind, Relation},
};

use super::{
    asked::{Asked, ChangeParams, ChangeResult, ListParams, PgBody, answer},
    error::PgFailure,
    lists,
};
use crate::{Platform, catalog::Created};

fn extension(object: &Constraint) -> Option<&str> {
    object.extension.as_deref()
}

/// `GET /pg/{ref}/constraints`.
pub(super) async fn list(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::list::<Constraint>(platform, asked).await
}

/// `GET /pg/{ref}/constraints/{id}`.
pub(super) async fn show(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<axum::Json<Constraint>, PgFailure> {
    lists::show::<Constraint>(platform, asked).await
}

/// `POST /pg/{ref}/constraints`: a check, a foreign key, a primary key, a unique constraint.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewConstraint>,
) -> ChangeResult<Constraint> {
    let change = asked.begin(&platform).await?;
    let table = change
        .object(new.table_id, |table: &Table| table.extension.as_deref())
        .await?;
    let statements = new.add(Relation::new(&table.schema, &table.name))?;
    let created = Created::ConstraintOf {
        table: new.table_id,
        is_foreign_key: matches!(new.kind, NewConstraintKind::ForeignKey { .. }),
    };
    let outcome = change.finish_created("add a constraint", statements, created);
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/constraints/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<ConstraintChanges>,
) -> ChangeResult<Constraint> {
    let id = asked.oid::<Constraint>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = changes.alter(&old)?;
    let outcome = change.finish_changed("alter a constraint", statements, id);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/constraints/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Constraint> {
    let id = asked.oid::<Constraint>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = old.drop_sql(asked.params.cascade);
    let outcome = change.finish_with("drop a constraint", statements, old);
    answer(outcome.await?)
}
