//! `/pg/{ref}/policies`: changes; lists are in `lists.rs`.

use axum::extract::State;
use plinth_catalog::{
    objects::Policy,
    statements::{NewPolicy, PolicyChanges},
};

use super::asked::{Asked, ChangeParams, ChangeResult, PgBody, answer};
use crate::{Platform, catalog::Created};

/// Policies are people's, also on tables of extensions.
fn extension(_: &Policy) -> Option<&str> {
    None
}

/// `POST /pg/{ref}/policies`.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewPolicy>,
) -> ChangeResult<Policy> {
    let change = asked.begin(&platform).await?;
    change.require_user_schema(new.schema())?;
    let statements = new.create()?;
    let created = Created::Policy {
        table: (new.schema(), &new.table),
        name: &new.name,
    };
    let outcome = change.finish_created("create a policy", statements, created);
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/policies/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<PolicyChanges>,
) -> ChangeResult<Policy> {
    let id = asked.oid::<Policy>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = changes.alter(&old)?;
    let outcome = change.finish_changed("alter a policy", statements, id);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/policies/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Policy> {
    let id = asked.oid::<Policy>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = old.drop_sql();
    let outcome = change.finish_with("drop a policy", statements, old);
    answer(outcome.await?)
}
