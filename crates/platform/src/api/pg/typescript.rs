//! `GET /pg/{ref}/generators/typescript`.

use axum::{
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use plinth_catalog::typescript::{Options, typescript};
use plinth_project::DatabaseAccess;
use serde::Deserialize;

use super::{asked::Asked, error::PgFailure};
use crate::Platform;

/// Parameters of the generator.
#[derive(Debug, Default, Deserialize)]
pub(super) struct GeneratorParams {
    /// Only these schemas, between commas.
    #[serde(default)]
    included_schemas: String,
    /// None of these schemas, between commas.
    #[serde(default)]
    excluded_schemas: String,
    /// Whether relationships say if they are one to one.
    #[serde(default)]
    detect_one_to_one_relationships: bool,
    /// The version of PostgREST that the client is made for.
    #[serde(default)]
    postgrest_version: Option<String>,
}

fn names(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `GET /pg/{ref}/generators/typescript`.
pub(super) async fn generate(
    State(platform): State<Platform>,
    asked: Asked<GeneratorParams>,
) -> Result<Response, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let params = &asked.params;
    let options = Options {
        included: names(&params.included_schemas),
        excluded: names(&params.excluded_schemas),
        detects_one_to_one: params.detect_one_to_one_relationships,
        postgrest_version: params.postgrest_version.clone(),
        only_readable: access != DatabaseAccess::Owner,
    };
    let session = project.db.session_as_operator(access).await?;
    let text = typescript(&session, &options).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}
