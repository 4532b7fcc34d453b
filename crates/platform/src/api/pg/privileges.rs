//! `/pg/{ref}/table-privileges` and `…/column-privileges`: lists, grants by POST, revocations by
//! DELETE with a body.

use axum::{extract::State, response::Response};
use plinth_catalog::{
    objects::{Column, ColumnId, ColumnPrivileges, RelationPrivileges},
    statements::{ColumnGrant, Relation, RelationGrant, grant_sql},
};

use super::{
    asked::{Asked, ChangeParams, ChangeResult, ListParams, PgBody, answer},
    error::PgFailure,
    lists,
};
use crate::{
    Platform, PlatformError,
    catalog::{CatalogError, no_object},
};

/// `GET /pg/{ref}/table-privileges`.
pub(super) async fn relations(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::list::<RelationPrivileges>(platform, asked).await
}

/// `GET /pg/{ref}/column-privileges`.
pub(super) async fn columns(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::list::<ColumnPrivileges>(platform, asked).await
}

/// `POST /pg/{ref}/table-privileges`.
pub(super) async fn grant_on_relations(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(grants): PgBody<Vec<RelationGrant>>,
) -> ChangeResult<Vec<RelationPrivileges>> {
    change_relations(&platform, &asked, &grants, false).await
}

/// `DELETE /pg/{ref}/table-privileges`.
pub(super) async fn revoke_on_relations(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(grants): PgBody<Vec<RelationGrant>>,
) -> ChangeResult<Vec<RelationPrivileges>> {
    change_relations(&platform, &asked, &grants, true).await
}

/// Each once.
fn distinct(ids: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut ids: Vec<u32> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn what(is_revoked: bool) -> &'static str {
    if is_revoked {
        "revoke privileges"
    } else {
        "grant privileges"
    }
}

async fn change_relations(
    platform: &Platform,
    asked: &Asked<ChangeParams>,
    grants: &[RelationGrant],
    is_revoked: bool,
) -> ChangeResult<Vec<RelationPrivileges>> {
    let change = asked.begin(platform).await?;
    let ids = distinct(grants.iter().map(|grant| grant.relation_id));
    let relations: Vec<RelationPrivileges> = change.objects(Some(ids.clone())).await?;
    let mut statements = Vec::new();
    for grant in grants {
        let relation = relations
            .iter()
            .find(|relation| relation.relation_id == grant.relation_id)
            .ok_or_else(|| no_object::<RelationPrivileges>(grant.relation_id))?;
        change.require_user_schema(&relation.schema)?;
        let name = Relation::new(&relation.schema, &relation.name);
        statements.push(grant_sql(&grant.grantee, name, None, is_revoked)?);
    }
    let outcome = change.finish(what(is_revoked), statements, async |client| {
        read(client, ids).await
    });
    answer(outcome.await?)
}

async fn read<T: plinth_catalog::objects::Object>(
    client: &tokio_postgres::Client,
    ids: Vec<u32>,
) -> Result<Vec<T>, CatalogError> {
    let scope = plinth_catalog::read::Scope {
        with_system: true,
        ids: Some(ids),
        only_readable: false,
    };
    Ok(plinth_catalog::read::list(client, &scope).await?)
}

/// `POST /pg/{ref}/column-privileges`.
pub(super) async fn grant_on_columns(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(grants): PgBody<Vec<ColumnGrant>>,
) -> ChangeResult<Vec<ColumnPrivileges>> {
    change_columns(&platform, &asked, &grants, false).await
}

/// `DELETE /pg/{ref}/column-privileges`.
pub(super) async fn revoke_on_columns(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(grants): PgBody<Vec<ColumnGrant>>,
) -> ChangeResult<Vec<ColumnPrivileges>> {
    change_columns(&platform, &asked, &grants, true).await
}

async fn change_columns(
    platform: &Platform,
    asked: &Asked<ChangeParams>,
    grants: &[ColumnGrant],
    is_revoked: bool,
) -> ChangeResult<Vec<ColumnPrivileges>> {
    let change = asked.begin(platform).await?;
    let parse = |grant: &ColumnGrant| -> Result<ColumnId, PlatformError> {
        let id = grant.column_id.parse();
        id.map_err(|error| PlatformError::Invalid(format!("column_id: {error}")))
    };
    let ids = grants.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let relations = distinct(ids.iter().map(|id| id.relation));
    let columns: Vec<Column> = change.objects(Some(relations.clone())).await?;
    let mut statements = Vec::new();
    for (grant, id) in grants.iter().zip(&ids) {
        let column = columns
            .iter()
            .find(|column| column.table_id == id.relation && column.ordinal_position == id.number)
            .ok_or_else(|| no_object::<Column>(id))?;
        change.require_user_schema(&column.schema)?;
        let relation = Relation::new(&column.schema, &column.table);
        let name = Some(column.name.as_str());
        statements.push(grant_sql(&grant.grantee, relation, name, is_revoked)?);
    }
    let outcome = change.finish(what(is_revoked), statements, async |client| {
        let mut all: Vec<ColumnPrivileges> = read(client, relations).await?;
        all.retain(|one| grants.iter().any(|grant| grant.column_id == one.column_id));
        Ok(all)
    });
    answer(outcome.await?)
}
