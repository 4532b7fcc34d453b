//! `/pg/{ref}/<kind>/{id}/dependents`: what goes with an object when it is dropped, to show before.

use axum::{Json, extract::State};
use plinth_catalog::{
    objects::{Column, ColumnId, Constraint, Function, Object, Schema, Table, UserType},
    read::{self, Dependents, ObjectClass},
};

use super::{
    asked::{Asked, ListParams},
    error::PgFailure,
    extensions::no_extension,
};
use crate::{Platform, catalog::no_object};

type Answer = Result<Json<Dependents>, PgFailure>;

async fn of<T: Object>(
    platform: &Platform,
    asked: &Asked<ListParams>,
    class: ObjectClass,
) -> Answer {
    let id = asked.oid::<T>()?;
    read_dependents(platform, asked, class, id, None).await
}

async fn read_dependents(
    platform: &Platform,
    asked: &Asked<ListParams>,
    class: ObjectClass,
    id: u32,
    column: Option<i16>,
) -> Answer {
    let (project, access) = asked.open(platform).await?;
    let session = project.db.session_as_operator(access).await?;
    Ok(Json(read::dependents(&session, class, id, column).await?))
}

/// Of a schema.
pub(super) async fn of_schema(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Answer {
    of::<Schema>(&platform, &asked, ObjectClass::Schema).await
}

/// Of a table or a view.
pub(super) async fn of_relation(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Answer {
    of::<Table>(&platform, &asked, ObjectClass::Relation).await
}

/// Of a column.
pub(super) async fn of_column(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Answer {
    let id: ColumnId = asked
        .id
        .parse()
        .map_err(|_| no_object::<Column>(&asked.id))?;
    let (class, column) = (ObjectClass::Relation, Some(id.number));
    read_dependents(&platform, &asked, class, id.relation, column).await
}

/// Of a function.
pub(super) async fn of_function(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Answer {
    of::<Function>(&platform, &asked, ObjectClass::Function).await
}

/// Of a type.
pub(super) async fn of_type(State(platform): State<Platform>, asked: Asked<ListParams>) -> Answer {
    of::<UserType>(&platform, &asked, ObjectClass::Type).await
}

/// Of a constraint.
pub(super) async fn of_constraint(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Answer {
    of::<Constraint>(&platform, &asked, ObjectClass::Constraint).await
}

/// Of an extension, by its name.
pub(super) async fn of_extension(
    State(platform): State<Platform>,
    asked: Asked<ListParams>,
) -> Answer {
    let (project, access) = asked.open(&platform).await?;
    let session = project.db.session_as_operator(access).await?;
    let sql = "select oid from pg_extension where extname = $1";
    let row = session.query_opt(sql, &[&asked.id]).await?;
    let id = row.ok_or_else(|| no_extension(&asked.id))?.try_get(0)?;
    let class = ObjectClass::Extension;
    Ok(Json(read::dependents(&session, class, id, None).await?))
}
