//! `/pg/{ref}/tables`.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use plinth_catalog::{
    objects::{Column, Constraint, ConstraintKind, Policy, Table},
    read::{Scope, fill_sizes, list as read_list},
    statements::{Duplicate, NewTable, Original, Statements, TableChanges},
};
use serde::Serialize;
use tokio_postgres::Client;

use super::{
    asked::{Asked, ChangeParams, ChangeResult, ListParams, PgBody, answer},
    error::PgFailure,
    lists::{self, WithColumns},
};
use crate::{
    Platform,
    catalog::{CatalogError, Created, SchemaChange, no_object},
};

/// A table with its columns.
#[derive(Debug, Serialize)]
pub(super) struct WholeTable {
    /// The table.
    #[serde(flatten)]
    table: Table,
    /// Its columns.
    columns: Vec<Column>,
}

impl WholeTable {
    async fn read(client: &Client, id: u32) -> Result<Self, CatalogError> {
        let scope = Scope::one(id);
        let mut tables: Vec<Table> = read_list(client, &scope).await?;
        fill_sizes(client, &scope, &mut tables).await?;
        let table = tables.pop().ok_or_else(|| no_object::<Table>(id))?;
        let columns = read_list(client, &scope).await?;
        Ok(Self { table, columns })
    }
}

fn extension(table: &Table) -> Option<&str> {
    table.extension.as_deref()
}

/// `GET /pg/{ref}/tables`.
pub(super) async fn list(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::relations::<Table>(State(platform), asked).await
}

/// `GET /pg/{ref}/tables/{id}`.
pub(super) async fn show(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let id = asked.oid::<Table>()?;
    let catalogs = platform.catalogs();
    let table = catalogs.read_table(&project, access, id).await?;
    let table = table.ok_or_else(|| asked.nothing::<Table>())?;
    let columns: Vec<Column> = catalogs.read(&project, access, vec![id]).await?;
    let body = WithColumns {
        relation: &table,
        columns: Some(&columns),
    };
    Ok(Json(body).into_response())
}

/// `POST /pg/{ref}/tables`; postgres-meta takes name, schema and comment.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewTable>,
) -> ChangeResult<WholeTable> {
    let change = asked.begin(&platform).await?;
    change.require_user_schema(new.schema())?;
    let statements = new.create()?;
    let created = Created::Relation {
        schema: new.schema(),
        name: &new.name,
    };
    finish_created(change, "create a table", statements, created).await
}

async fn finish_created(
    change: SchemaChange,
    what: &str,
    statements: Statements,
    created: Created<'_>,
) -> ChangeResult<WholeTable> {
    let outcome = change.finish(what, statements, async |client: &Client| {
        WholeTable::read(client, created.find(client).await?).await
    });
    answer(outcome.await?)
}

/// `PATCH /pg/{ref}/tables/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<TableChanges>,
) -> ChangeResult<WholeTable> {
    let id = asked.oid::<Table>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let key = if changes.primary_keys.is_some() {
        constraints(&change, id).await?
    } else {
        Vec::new()
    };
    let key = key
        .iter()
        .find(|constraint| constraint.kind == ConstraintKind::PrimaryKey);
    let statements = changes.alter(&old, key.map(|key| key.name.as_str()))?;
    let outcome = change.finish("alter a table", statements, async |client: &Client| {
        WholeTable::read(client, id).await
    });
    answer(outcome.await?)
}

/// The constraints of one table.
pub(super) async fn constraints(
    change: &SchemaChange,
    table: u32,
) -> Result<Vec<Constraint>, CatalogError> {
    let sql = "select oid from pg_constraint where conrelid = $1";
    let rows = change.client().query(sql, &[&table]).await?;
    let ids = rows.iter().map(|row| row.get(0)).collect();
    change.objects(Some(ids)).await
}

/// `DELETE /pg/{ref}/tables/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<WholeTable> {
    let id = asked.oid::<Table>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let whole = WholeTable::read(change.client(), id).await?;
    let statements = old.drop_sql(asked.params.cascade);
    let outcome = change.finish_with("drop a table", statements, whole);
    answer(outcome.await?)
}

/// `POST /pg/{ref}/tables/{id}/truncate`; ours alone.
pub(super) async fn truncate(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<WholeTable> {
    let id = asked.oid::<Table>()?;
    let change = asked.begin(&platform).await?;
    let old = change.object(id, extension).await?;
    let statements = old.truncate_sql(asked.params.cascade);
    let outcome = change.finish("truncate a table", statements, async |client: &Client| {
        WholeTable::read(client, id).await
    });
    answer(outcome.await?)
}

/// `POST /pg/{ref}/tables/{id}/duplicate`; ours alone.
pub(super) async fn duplicate(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(copy): PgBody<Duplicate>,
) -> ChangeResult<WholeTable> {
    let id = asked.oid::<Table>()?;
    let change = asked.begin(&platform).await?;
    let table = change.object(id, |_: &Table| None).await?;
    change.require_user_schema(copy.schema(&table))?;
    let columns: Vec<Column> = change.objects(Some(vec![id])).await?;
    let constraints = constraints(&change, id).await?;
    let sql = "select oid from pg_policy where polrelid = $1";
    let rows = change.client().query(sql, &[&id]).await?;
    let ids = rows.iter().map(|row| row.get(0)).collect();
    let policies: Vec<Policy> = change.objects(Some(ids)).await?;
    let statements = copy.create(&Original {
        table: &table,
        columns: &columns,
        constraints: &constraints,
        policies: &policies,
    })?;
    let created = Created::Relation {
        schema: copy.schema(&table),
        name: &copy.name,
    };
    finish_created(change, "duplicate a table", statements, created).await
}
