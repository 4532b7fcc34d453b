//! Reading objects, by one query per kind.
//!
//! PostgreSQL makes the JSON of each object, whose members are those of the structs. Names are found
//! along the session's search path, as in any tool of the same role.

mod dependents;
mod sizes;

use postgres_types::Type;
use tokio_postgres::{Client, Transaction};

use crate::objects::Object;

pub use dependents::{Dependent, Dependents, ObjectClass, dependents};
pub use sizes::fill_sizes;

/// Schemas of Plinth's own, some of which everybody may read, but which are no part of a project.
const OWN_SCHEMAS: [&str; 2] = ["plinth", "plinth_roles"];

/// Which objects are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Those of PostgreSQL's own schemas too.
    pub with_system: bool,
    /// Only these; columns by the oids of their relations.
    pub ids: Option<Vec<u32>>,
    /// Only what the session's role may read, for roles that own nothing; and nothing of Plinth's own.
    pub only_readable: bool,
}

impl Scope {
    /// One object, wherever it is.
    pub fn one(id: u32) -> Self {
        Self {
            with_system: true,
            ids: Some(vec![id]),
            only_readable: false,
        }
    }
}

/// An object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// PostgreSQL rejected the query.
    #[error("{}", plinth_db::describe(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// A bug of ours: the query selects other members than the struct has.
    #[error("unexpected {kind}: {cause}")]
    Unexpected {
        /// The kind of object.
        kind: &'static str,
        /// What is wrong with it.
        cause: serde_json::Error,
    },
}

/// Objects of one kind, by schema and name.
pub async fn list<T: Object>(client: &Client, scope: &Scope) -> Result<Vec<T>, ReadError> {
    // Typed, so that the query takes one round trip and no name.
    let rows = client
        .query_typed(
            T::SQL,
            &[
                (&scope.with_system, Type::BOOL),
                (&scope.ids, Type::OID_ARRAY),
                (&scope.only_readable, Type::BOOL),
            ],
        )
        .await?;
    let mut objects = Vec::with_capacity(rows.len());
    for row in &rows {
        let json: &str = row.try_get(0)?;
        let mut object: T = serde_json::from_str(json).map_err(|cause| ReadError::Unexpected {
            kind: T::KIND,
            cause,
        })?;
        let is_own = object
            .schema()
            .is_some_and(|schema| OWN_SCHEMAS.contains(&schema));
        if scope.only_readable && is_own {
            continue;
        }
        object.complete();
        objects.push(object);
    }
    Ok(objects)
}

/// What is known of objects of a kind without reading them, if there is such a query.
pub async fn fingerprint<T: Object>(
    client: &Client,
    scope: &Scope,
) -> Result<Option<String>, ReadError> {
    let Some(sql) = T::FINGERPRINT else {
        return Ok(None);
    };
    let row = client
        .query_typed_one(sql, &[(&scope.with_system, Type::BOOL)])
        .await?;
    Ok(Some(row.try_get(0)?))
}

/// One object, if it is there.
pub async fn find<T: Object>(
    client: &Client,
    id: u32,
    only_readable: bool,
) -> Result<Option<T>, ReadError> {
    let scope = Scope {
        only_readable,
        ..Scope::one(id)
    };
    Ok(list(client, &scope).await?.pop())
}

/// The same in a transaction.
pub async fn find_in<T: Object>(
    transaction: &Transaction<'_>,
    id: u32,
) -> Result<Option<T>, ReadError> {
    find(transaction.client(), id, false).await
}
