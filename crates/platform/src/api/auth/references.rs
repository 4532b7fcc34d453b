//! `GET …/auth/users/{id}/references`: rows of the project that would go with a user, or keep it from
//! being deleted.

use axum::Json;
use serde::{Deserialize, Serialize};

use super::{Administration, parse_id};
use crate::{
    PlatformError,
    api::body::Segments,
    user_references::{self, MAX_COUNTED, Reference},
};

/// Tables with rows of the user.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct References {
    references: Vec<ReferenceBody>,
    /// Numbers end here: this many rows or more.
    max_counted: i64,
}

/// A column that refers to users.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct ReferenceBody {
    schema: String,
    table: String,
    column: String,
    /// What a deletion of the user does to the rows: `cascade`, `set null`, `set default`, `restrict`,
    /// `no action`; null where nothing ties them together.
    on_delete: Option<String>,
    /// How many rows there are; null if they could not be counted.
    rows: Option<i64>,
    /// Why they could not be counted.
    problem: Option<String>,
}

/// `GET …/auth/users/{id}/references`
pub(in crate::api) async fn list(
    administration: Administration,
    Segments((_, id)): Segments<(String, String)>,
) -> Result<Json<References>, PlatformError> {
    let user = parse_id(&id, "user")?;
    let users = administration.platform.users()?;
    // For the error of an unknown user.
    users.details(&administration.call, user).await?;
    let project = administration.project();
    let access = administration.operator.database_access(project.reference());
    let found = user_references::find(project, access, user).await?;
    Ok(Json(References {
        references: found.into_iter().map(body).collect(),
        max_counted: MAX_COUNTED,
    }))
}

fn body(reference: Reference) -> ReferenceBody {
    let (rows, problem) = match reference.rows {
        Ok(rows) => (Some(rows), None),
        Err(problem) => (None, Some(problem)),
    };
    ReferenceBody {
        schema: reference.schema,
        table: reference.table,
        column: reference.column,
        on_delete: reference.on_delete,
        rows,
        problem,
    }
}
