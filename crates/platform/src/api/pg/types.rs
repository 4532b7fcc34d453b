//! `/pg/{ref}/types`: postgres-meta lists them; changes are ours alone.

use axum::{extract::State, response::Response};
use plinth_catalog::{
    objects::UserType,
    statements::{NewType, TypeChanges},
};

use super::{
    asked::{Asked, ChangeParams, ChangeResult, ListParams, PgBody, answer},
    error::PgFailure,
    lists,
};
use crate::{Platform, catalog::Created};

fn extension(object: &UserType) -> Option<&str> {
    object.extension.as_deref()
}

/// `GET /pg/{ref}/types`.
pub(super) async fn list(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::list::<UserType>(platform, asked).await
}

/// `GET /pg/{ref}/types/{id}`.
pub(super) async fn show(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<axum::Json<UserType>, PgFailure> {
    lists::show::<UserType>(platform, asked).await
}

/// `POST /pg/{ref}/types`: an enum, a composite or a domain.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewType>,
) -> ChangeResult<UserType> {
    let change = asked.begin(&platform).await?;
    change.require_user_schema(new.schema())?;
    let statements = new.create()?;
    let created = Created::Type {
        schema: new.schema(),
        name: &new.name,
    };
    let outcome = change.finish_created("create a type", statements, created);
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/types/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<TypeChanges>,
) -> ChangeResult<UserType> {
    let id = asked.oid::<UserType>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = changes.alter(&old)?;
    let outcome = change.finish_changed("alter a type", statements, id);
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/types/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<UserType> {
    let id = asked.oid::<UserType>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = old.drop_sql(asked.params.cascade);
    let outcome = change.finish_with("drop a type", statements, old);
    answer(outcome.await?)
}
