//! `/pg/{ref}/triggers`: changes; lists are in `lists.rs`.

use axum::extract::State;
use plinth_catalog::{
    objects::Trigger,
    statements::{NewTrigger, TriggerChanges},
};

use super::asked::{Asked, ChangeParams, ChangeResult, PgBody, answer};
use crate::{Platform, catalog::Created};

fn extension(object: &Trigger) -> Option<&str> {
    object.extension.as_deref()
}

/// `POST /pg/{ref}/triggers`.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewTrigger>,
) -> ChangeResult<Trigger> {
    let change = asked.begin(&platform).await?;
    change.require_user_schema(new.schema())?;
    let statements = new.create()?;
    let created = Created::Trigger {
        table: (new.schema(), &new.table),
        name: &new.name,
    };
    let outcome = change.finish_created("create a trigger", statements, created);
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/triggers/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<TriggerChanges>,
) -> ChangeResult<Trigger> {
    let id = asked.oid::<Trigger>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = changes.alter(&old)?;
    let outcome = change.finish_changed("alter a trigger", statements, id);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/triggers/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Trigger> {
    let id = asked.oid::<Trigger>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = old.drop_sql(asked.params.cascade);
    let outcome = change.finish_with("drop a trigger", statements, old);
    answer(outcome.await?)
}
