//! Lists of objects, and objects by their ids.

use std::collections::HashMap;

use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use plinth_catalog::objects::{Column, Object, ServerSetting, ServerVersion};
use serde::Serialize;

use super::{
    asked::{Asked, ListParams},
    error::PgFailure,
};
use crate::{Platform, PlatformError};

/// A list that was written while it could not change.
pub(super) fn json_list(
    written: Result<Vec<u8>, serde_json::Error>,
) -> Result<Response, PgFailure> {
    let bytes = written.map_err(PlatformError::caused_by)?;
    Ok(([(CONTENT_TYPE, "application/json")], Bytes::from(bytes)).into_response())
}

/// `GET /pg/{ref}/<kind>`.
pub(super) async fn list<T: Object>(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let params = &asked.params;
    let catalogs = platform.catalogs();
    let written = catalogs
        .with_list(&project, access, params.with_system(), |objects: &[T]| {
            serde_json::to_vec(&params.page(objects))
        })
        .await?;
    json_list(written)
}

/// `GET /pg/{ref}/<kind>/{id}`.
pub(super) async fn show<T: Object>(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Json<T>, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let id = asked.oid::<T>()?;
    let mut found: Vec<T> = platform.catalogs().read(&project, access, vec![id]).await?;
    found.pop().map(Json).ok_or_else(|| asked.nothing::<T>())
}

/// A relation with its columns.
#[derive(Serialize)]
pub(super) struct WithColumns<'a, T> {
    /// The relation.
    #[serde(flatten)]
    pub(super) relation: &'a T,
    /// Its columns, unless they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) columns: Option<&'a [Column]>,
}

/// A relation of some kind.
pub(super) trait Relation: Object {
    fn id(&self) -> u32;
}

macro_rules! relation {
    ($($kind:ty),*) => {
        $(impl Relation for $kind {
            fn id(&self) -> u32 {
                self.id
            }
        })*
    };
}

relation!(
    plinth_catalog::objects::Table,
    plinth_catalog::objects::View,
    plinth_catalog::objects::MaterializedView,
    plinth_catalog::objects::ForeignTable
);

/// Columns by relation; they are in the order of their relations.
fn by_relation(columns: &[Column]) -> HashMap<u32, &[Column]> {
    let groups = columns.chunk_by(|a, b| a.table_id == b.table_id);
    groups.map(|group| (group[0].table_id, group)).collect()
}

/// Writes relations, with their columns if there are some.
fn write<T: Relation>(
    relations: &[&T],
    columns: Option<&[Column]>,
) -> Result<Vec<u8>, serde_json::Error> {
    let columns = columns.map(by_relation);
    let with_columns: Vec<WithColumns<'_, T>> = relations
        .iter()
        .map(|relation| WithColumns {
            relation: *relation,
            columns: columns
                .as_ref()
                .map(|columns| columns.get(&relation.id()).copied().unwrap_or_default()),
        })
        .collect();
    serde_json::to_vec(&with_columns)
}

/// `GET /pg/{ref}/tables`, `…/views`, `…/materialized-views`, `…/foreign-tables`.
pub(super) async fn relations<T: Relation>(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let params = &asked.params;
    let wanted = (params.with_system(), params.include_columns);
    let written = platform
        .catalogs()
        .with_relations(&project, access, wanted, |relations: &[T], columns| {
            write(&params.page(relations), columns)
        })
        .await?;
    json_list(written)
}

/// The same by id.
pub(super) async fn relation<T: Relation>(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let id = asked.oid::<T>()?;
    let catalogs = platform.catalogs();
    let found: Vec<T> = catalogs.read(&project, access, vec![id]).await?;
    let relation = found.first().ok_or_else(|| asked.nothing::<T>())?;
    let columns: Vec<Column> = catalogs.read(&project, access, vec![id]).await?;
    let body = WithColumns {
        relation,
        columns: Some(&columns),
    };
    Ok(Json(body).into_response())
}

/// `GET /pg/{ref}/config`.
pub(super) async fn settings(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    list::<ServerSetting>(platform, asked).await
}

/// `GET /pg/{ref}/config/version`.
pub(super) async fn version(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Json<Option<ServerVersion>>, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let first = |versions: &[ServerVersion]| versions.first().cloned();
    let catalogs = platform.catalogs();
    let version = catalogs.with_list(&project, access, false, first).await?;
    Ok(Json(version))
}
