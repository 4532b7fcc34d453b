//! What a request asks for: operator and project first, since a refusal comes before complaints about
//! parameters and body.

use std::collections::HashMap;

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::request::Parts,
};
use plinth_catalog::objects::Object;
use plinth_project::{DatabaseAccess, Project, ProjectName};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::error::PgFailure;
use crate::{
    Platform, PlatformError,
    api::{
        Operator,
        body::{Body, Params},
    },
    catalog::{ChangeOptions, Outcome, SchemaChange, no_object},
};

/// A request to one project: `Q` are its parameters.
pub(super) struct Asked<Q> {
    pub(super) operator: Operator,
    pub(super) project: ProjectName,
    /// What the path names below the project; empty where it names nothing.
    pub(super) id: String,
    pub(super) params: Q,
}

impl<Q: DeserializeOwned> FromRequestParts<Platform> for Asked<Q> {
    type Rejection = PgFailure;

    async fn from_request_parts(parts: &mut Parts, platform: &Platform) -> Result<Self, PgFailure> {
        let operator = Operator::from_request_parts(parts, platform).await?;
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, platform).await;
        let Path(mut segments) =
            path.map_err(|rejection| PlatformError::Invalid(rejection.body_text()))?;
        let name = segments.remove("ref").unwrap_or_default();
        let project = operator.project_by_name(platform, &name)?;
        let Params(params) = Params::<Q>::from_request_parts(parts, platform).await?;
        let id = segments.into_values().next().unwrap_or_default();
        Ok(Self {
            operator,
            project,
            id,
            params,
        })
    }
}

impl<Q> Asked<Q> {
    /// The oid in the path. What is no oid names no object.
    pub(super) fn oid<T: Object>(&self) -> Result<u32, PgFailure> {
        self.oid_of(T::KIND)
    }

    /// The same without a kind of its own.
    pub(super) fn oid_of(&self, kind: &str) -> Result<u32, PgFailure> {
        let is_plain = self.id.bytes().all(|byte| byte.is_ascii_digit());
        let oid = is_plain.then(|| self.id.parse().ok()).flatten();
        let none = || PlatformError::NotFound(format!("Cannot find a {kind} with ID {}", self.id));
        Ok(oid.ok_or_else(none)?)
    }

    /// Nothing has this id.
    pub(super) fn nothing<T: Object>(&self) -> PgFailure {
        no_object::<T>(&self.id).into()
    }

    /// The project, and what the operator may do in its database.
    pub(super) async fn open(
        &self,
        platform: &Platform,
    ) -> Result<(Project, DatabaseAccess), PgFailure> {
        let reference = platform.reference_of(&self.project);
        let access = self.operator.database_access(&reference);
        Ok((platform.open(&self.project).await?, access))
    }
}

impl Asked<ChangeParams> {
    /// Begins a change.
    pub(super) async fn begin(&self, platform: &Platform) -> Result<SchemaChange, PgFailure> {
        let options = ChangeOptions {
            dry_run: self.params.dry_run,
            migration: self.params.migration.clone(),
        };
        let change = SchemaChange::begin(platform, &self.operator, &self.project, options).await?;
        Ok(change)
    }
}

/// Parameters of a list.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ListParams {
    /// How many objects at most.
    #[serde(default)]
    pub(super) limit: Option<usize>,
    /// How many are left out first.
    #[serde(default)]
    pub(super) offset: usize,
    /// Whether those of PostgreSQL's own schemas are wanted.
    #[serde(default)]
    pub(super) include_system_schemas: bool,
    /// Only these schemas, between commas.
    #[serde(default)]
    pub(super) included_schemas: Option<String>,
    /// None of these schemas, between commas.
    #[serde(default)]
    pub(super) excluded_schemas: Option<String>,
    /// Whether relations come with their columns.
    #[serde(default = "yes")]
    pub(super) include_columns: bool,
    /// Whether roles that PostgreSQL defines are wanted.
    #[serde(default)]
    pub(super) include_default_roles: bool,
}

fn yes() -> bool {
    true
}

impl ListParams {
    /// Whether objects of system schemas are to be read: a schema that is named counts.
    pub(super) fn with_system(&self) -> bool {
        let is_system = |schema: &str| schema.starts_with("pg_") || schema == "information_schema";
        let included = self.included_schemas.as_deref().unwrap_or_default();
        self.include_system_schemas || included.split(',').any(is_system)
    }

    /// The page that is asked for.
    pub(super) fn page<'a, T: Object>(&self, objects: &'a [T]) -> Vec<&'a T> {
        let names = |text: &Option<String>| -> Vec<String> {
            let text = text.as_deref().unwrap_or_default();
            let names = text.split(',').filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        let (included, excluded) = (names(&self.included_schemas), names(&self.excluded_schemas));
        let is_asked_for = |object: &&T| match object.schema() {
            None => true,
            Some(schema) if !included.is_empty() => included.iter().any(|name| name == schema),
            Some(schema) => excluded.iter().all(|name| name != schema),
        };
        objects
            .iter()
            .filter(is_asked_for)
            .skip(self.offset)
            .take(self.limit.unwrap_or(usize::MAX))
            .collect()
    }
}

/// Parameters of a change.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ChangeParams {
    /// Whether the statements are shown only.
    #[serde(default)]
    pub(super) dry_run: bool,
    /// The name under which they are recorded.
    #[serde(default)]
    pub(super) migration: Option<String>,
    /// Whether what depends on the object goes too.
    #[serde(default)]
    pub(super) cascade: bool,
    /// Whether others may write meanwhile.
    #[serde(default)]
    pub(super) concurrently: Option<bool>,
}

/// A JSON body.
pub(super) struct PgBody<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Platform> for PgBody<T> {
    type Rejection = PgFailure;

    async fn from_request(request: Request, platform: &Platform) -> Result<Self, PgFailure> {
        let Body(body) = Body::from_request(request, platform).await?;
        Ok(Self(body))
    }
}

/// What a change answers with.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Changed<T> {
    /// `?dry_run=true`: the statements.
    Shown {
        /// As one text.
        sql: String,
    },
    /// The object as it is now; what was dropped as it was.
    Done(T),
}

impl<T> From<Outcome<T>> for Changed<T> {
    fn from(outcome: Outcome<T>) -> Self {
        match outcome {
            Outcome::Shown(statements) => Self::Shown {
                sql: plinth_catalog::statements::to_script(&statements),
            },
            Outcome::Done(object) => Self::Done(object),
        }
    }
}

/// What a handler of a change returns.
pub(super) type ChangeResult<T> = Result<axum::Json<Changed<T>>, PgFailure>;

/// The same as a response.
pub(super) fn answer<T>(outcome: Outcome<T>) -> ChangeResult<T> {
    Ok(axum::Json(outcome.into()))
}
