//! `/pg/{ref}/columns`. The id of a column is its table's and its number: `16384.2`.

use axum::{Json, extract::State, response::Response};
use plinth_catalog::{
    objects::{Column, ColumnId, Object, Table},
    statements::{ColumnChanges, NewColumnOfTable, Relation, cast_check},
};
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::{
    asked::{Asked, ChangeParams, ChangeResult, ListParams, PgBody, answer},
    error::PgFailure,
    lists,
    tables::constraints,
};
use crate::{
    Platform, PlatformError,
    catalog::{CatalogError, SchemaChange},
};

/// How long the rows of a table are tried, in PostgreSQL's words.
const CHECK_TIMEOUT: &str = "set local statement_timeout = '30s'";

/// `GET /pg/{ref}/columns`.
pub(super) async fn list(
    platform: State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Response, PgFailure> {
    lists::list::<Column>(platform, asked).await
}

impl<Q> Asked<Q> {
    fn column(&self) -> Result<ColumnId, PgFailure> {
        let id = self.id.parse();
        Ok(id.map_err(|_| {
            PlatformError::NotFound(format!("Cannot find a column with ID {}", self.id))
        })?)
    }
}

fn one(columns: Vec<Column>, id: ColumnId) -> Result<Column, PlatformError> {
    let found = columns
        .into_iter()
        .find(|column| column.ordinal_position == id.number);
    found.ok_or_else(|| PlatformError::NotFound(format!("Cannot find a column with ID {id}")))
}

/// `GET /pg/{ref}/columns/{id}`.
pub(super) async fn show(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Result<Json<Column>, PgFailure> {
    let (project, access) = asked.open(&platform).await?;
    let id = asked.column()?;
    let catalogs = platform.catalogs();
    let columns = catalogs.read(&project, access, vec![id.relation]).await?;
    Ok(Json(one(columns, id)?))
}

fn extension(table: &Table) -> Option<&str> {
    table.extension.as_deref()
}

/// The column in the transaction of a change, and its table.
async fn find(change: &SchemaChange, id: ColumnId) -> Result<Column, CatalogError> {
    let columns: Vec<Column> = change.objects(Some(vec![id.relation])).await?;
    let column = one(columns, id)?;
    change.require_user_schema(column.schema().unwrap_or_default())?;
    // Refuses what belongs to an extension; columns of views have no table.
    let tables: Vec<Table> = change.objects(Some(vec![id.relation])).await?;
    if !tables.is_empty() {
        change.object(id.relation, extension).await?;
    }
    Ok(column)
}

async fn refreshed(client: &Client, id: ColumnId) -> Result<Column, CatalogError> {
    let scope = plinth_catalog::read::Scope::one(id.relation);
    let columns = plinth_catalog::read::list(client, &scope).await?;
    Ok(one(columns, id)?)
}

/// `POST /pg/{ref}/columns`.
pub(super) async fn create(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(new): PgBody<NewColumnOfTable>,
) -> ChangeResult<Column> {
    let change = asked.begin(&platform).await?;
    let table = change.object(new.table_id, extension).await?;
    let statements = new.column.add(Relation::new(&table.schema, &table.name))?;
    let outcome = change.finish("add a column", statements, async |client: &Client| {
        let sql = "select attnum from pg_attribute where attrelid = $1 and attname = $2";
        let row = client
            .query_one(sql, &[&table.id, &new.column.name])
            .await?;
        let id = ColumnId {
            relation: table.id,
            number: row.get(0),
        };
        require_check(refreshed(client, id).await?, new.column.check.is_some())
    });
    answer(outcome.await?)
}

/// What was given as the check of a column must be one: PostgreSQL takes conditions on several columns
/// at the same place.
fn require_check(column: Column, has_check: bool) -> Result<Column, CatalogError> {
    if has_check && column.check.is_none() {
        let reason =
            "The check of a column concerns that column alone; add a constraint to the table";
        return Err(PlatformError::Invalid(reason.to_owned()).into());
    }
    Ok(column)
}

/// `PATCH /pg/{ref}/columns/{id}`.
pub(super) async fn update(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(changes): PgBody<ColumnChanges>,
) -> ChangeResult<Column> {
    let id = asked.column()?;
    let change = asked.begin(&platform).await?;
    let old = find(&change, id).await?;
    let constraints = constraints(&change, id.relation).await?;
    let statements = changes.alter(&old, &constraints)?;
    let outcome = change.finish("alter a column", statements, async |client: &Client| {
        let has_check = matches!(changes.check, Some(Some(_)));
        require_check(refreshed(client, id).await?, has_check)
    });
    answer(outcome.await?)
}

/// `DELETE /pg/{ref}/columns/{id}`.
pub(super) async fn delete(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
) -> ChangeResult<Column> {
    let id = asked.column()?;
    let change = asked.begin(&platform).await?;
    let old = find(&change, id).await?;
    let statements = old.drop_sql(asked.params.cascade);
    let outcome = change.finish_with("drop a column", statements, old);
    answer(outcome.await?)
}

/// A type that a column might get.
#[derive(Debug, Deserialize)]
pub(super) struct TypeCheckBody {
    /// The type.
    #[serde(rename = "type")]
    type_: String,
    /// How to make the new values; a cast if absent.
    #[serde(default)]
    using: Option<String>,
}

/// What a change of type would do.
#[derive(Debug, Serialize)]
pub(super) struct TypeCheck {
    /// Rows of the table.
    total: i64,
    /// Rows whose value has no place in the new type.
    failing: i64,
    /// What PostgreSQL says of one of them.
    example: Option<String>,
}

/// `POST /pg/{ref}/columns/{id}/type-check`: how many rows a change of type would fail for; ours alone.
pub(super) async fn check_type(
    State(platform): State<Platform>,
    asked: Asked<ChangeParams>,
    PgBody(body): PgBody<TypeCheckBody>,
) -> Result<Json<TypeCheck>, PgFailure> {
    let id = asked.column()?;
    let change = asked.begin(&platform).await?;
    let old = find(&change, id).await?;
    let (statements, query) = cast_check(&old, &body.type_, body.using.as_deref())?;
    let client = change.client();
    client.batch_execute(CHECK_TIMEOUT).await?;
    for statement in &statements {
        client.execute_typed(statement, &[]).await?;
    }
    let row = client.query_typed_one(&query, &[]).await?;
    Ok(Json(TypeCheck {
        total: row.try_get("total")?,
        failing: row.try_get("failing")?,
        example: row.try_get("example")?,
    }))
}
