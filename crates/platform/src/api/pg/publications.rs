//! `/pg/{ref}/publications`: changes; lists are in `lists.rs`.

use axum::extract::State;
use plinth_catalog::{
    objects::Publication,
    statements::{NewPublication, PublicationChanges},
};

use super::asked::{Asked, ChangeParams, ChangeResult, PgBody, answer};
use crate::{Platform, catalog::Created};

/// No extension has publications.
fn extension(_: &Publication) -> Option<&str> {
    None
}

/// `POST /pg/{ref}/publications`.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewPublication>,
) -> ChangeResult<Publication> {
    let change = asked.begin(&platform).await?;
    let statements = new.create()?;
    let created = Created::Publication(&new.name);
    let outcome = change.finish_created("create a publication", statements, created);
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/publications/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<PublicationChanges>,
) -> ChangeResult<Publication> {
    let id = asked.oid::<Publication>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = changes.alter(&old)?;
    // It may have been made anew, with another oid.
    let name = changes.name.as_deref().unwrap_or(&old.name);
    let created = Created::Publication(name);
    let outcome = change.finish_created("alter a publication", statements, created);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/publications/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Publication> {
    let id = asked.oid::<Publication>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = old.drop_sql();
    let outcome = change.finish_with("drop a publication", statements, old);
    answer(outcome.await?)
}
