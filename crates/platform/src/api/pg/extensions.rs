//! `/pg/{ref}/extensions`, which are known by name.

use axum::{Json, extract::State, response::Response};
use plinth_catalog::{
    objects::Extension,
    read::{self, Scope},
    statements::{ExtensionChanges, NewExtension},
};
use tokio_postgres::Client;

use super::{
    asked::{Asked, ChangeParams, ChangeResult, ListParams, PgBody, answer},
    error::PgFailure,
    lists,
};
use crate::{Platform, PlatformError, catalog::CatalogError};

/// `GET /pg/{ref}/extensions`.
pub(super) async fn list(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::list::<Extension>(platform, asked).await
}

/// `GET /pg/{ref}/extensions/{name}`.
pub(super) async fn show(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Json<Extension>, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let one = |all: &[Extension]| all.iter().find(|one| one.name == asked.id).cloned();
    let catalogs = platform.catalogs();
    let found = catalogs.with_list(&project, access, false, one).await?;
    Ok(Json(found.ok_or_else(|| no_extension(&asked.id))?))
}

/// In postgres-meta's words.
pub(super) fn no_extension(name: &str) -> PlatformError {
    PlatformError::NotFound(format!("Cannot find an extension named {name}"))
}

async fn find(client: &Client, name: &str) -> Result<Extension, CatalogError> {
    let all: Vec<Extension> = read::list(client, &Scope::default()).await?;
    let found = all.into_iter().find(|one| one.name == name);
    Ok(found.ok_or_else(|| no_extension(name))?)
}

/// `POST /pg/{ref}/extensions`.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewExtension>,
) -> ChangeResult<Extension> {
    let change = asked.begin(&platform).await?;
    let statements = new.create()?;
    let outcome = change.finish(
        "install an extension",
        statements,
        async |client: &Client| find(client, &new.name).await,
    );
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/extensions/{name}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<ExtensionChanges>,
) -> ChangeResult<Extension> {
    let change = asked.begin(&platform).await?;
    let old = find(change.client(), &asked.id).await?;
    let statements = changes.alter(&old)?;
    let outcome = change.finish("alter an extension", statements, async |client: &Client| {
        find(client, &old.name).await
    });
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/extensions/{name}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Extension> {
    let change = asked.begin(&platform).await?;
    let old = find(change.client(), &asked.id).await?;
    let statements = old.drop_sql(asked.params.cascade);
    let outcome = change.finish_with("remove an extension", statements, old);
    answer(outcome.await?)
}
