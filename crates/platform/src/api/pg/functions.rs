//! `/pg/{ref}/functions`: changes; lists are in `lists.rs`.

use axum::extract::State;
use plinth_catalog::{
    objects::Function,
    statements::{FunctionChanges, NewFunction},
};

use super::asked::{Asked, ChangeParams, ChangeResult, PgBody, answer};
use crate::{Platform, catalog::Created};

fn extension(object: &Function) -> Option<&str> {
    object.extension.as_deref()
}

/// `POST /pg/{ref}/functions`.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewFunction>,
) -> ChangeResult<Function> {
    let change = asked.begin(&platform).await?;
    change.require_user_schema(new.schema())?;
    let statements = new.create()?;
    let created = Created::Function {
        schema: new.schema(),
        name: &new.name,
    };
    let outcome = change.finish_created("create a function", statements, created);
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/functions/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<FunctionChanges>,
) -> ChangeResult<Function> {
    let id = asked.oid::<Function>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = changes.alter(&old)?;
    let outcome = change.finish_changed("alter a function", statements, id);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/functions/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Function> {
    let id = asked.oid::<Function>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = old.drop_sql(asked.params.cascade);
    let outcome = change.finish_with("drop a function", statements, old);
    answer(outcome.await?)
}
