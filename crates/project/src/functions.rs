//! Users' functions, as those who run them and those who keep them see each other.
//!
//! The platform keeps what was deployed ([`FunctionShelf`]); the functions service runs it and
//! prepares what is about to be deployed ([`FunctionRunner`]).

use std::{collections::BTreeMap, error::Error, path::Path};

use plinth_db::DbError;
use plinth_token::Secret;
use uuid::Uuid;

use crate::{BoxFuture, Project, ProjectRef};

/// One version of a function that was deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployedFunction {
    /// The function, whatever its version.
    pub id: Uuid,
    /// What it is called in addresses.
    pub slug: String,
    /// Counts from 1.
    pub version: i32,
    /// Whether callers must show a credential of the project.
    pub verify_jwt: bool,
    /// How its sources are run.
    pub source: FunctionSource,
}

/// What is run, as paths relative to the folder that holds all sources of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSource {
    /// The module that serves.
    pub entrypoint: String,
    /// The import map or `deno.json` that was named for it.
    pub import_map: Option<String>,
    /// Which files it may read while it runs.
    pub static_patterns: Vec<String>,
}

/// Keeps deployed functions and the secrets of projects. The platform does.
pub trait FunctionShelf: Send + Sync {
    /// The active version of each function of a project.
    fn functions<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<Vec<DeployedFunction>, DbError>>;

    /// Writes the sources of a version into an empty folder, with the paths that they were
    /// deployed with.
    fn unpack<'a>(
        &'a self,
        project: &'a ProjectRef,
        function: &'a DeployedFunction,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<(), UnpackError>>;

    /// A project's secrets by name.
    fn secrets<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>, DbError>>;
}

/// Why the sources of a version are not there.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// They cannot be read.
    #[error(transparent)]
    Database(#[from] DbError),
    /// They cannot be written.
    #[error(transparent)]
    Disk(#[from] std::io::Error),
    /// The version was removed meanwhile.
    #[error("this version of the function is gone")]
    Gone,
}

/// What every function of a project is told about it, beside its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSurroundings {
    /// The project's base URL as a worker reaches it, without a slash at its end.
    pub api_url: String,
    /// The same as everybody else does.
    pub public_url: String,
    /// The connection string of the project's owner, as a worker reaches the database.
    pub database_url: Secret,
    /// The legacy keys.
    pub anon_key: Secret,
    pub service_role_key: Secret,
    /// Opaque keys by name.
    pub publishable_keys: BTreeMap<String, Secret>,
    pub secret_keys: BTreeMap<String, Secret>,
}

/// Knows where projects are reached and what opens them. The program does.
pub trait FunctionHost: Send + Sync {
    /// What functions of the project are told.
    fn surroundings<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<FunctionSurroundings, Box<dyn Error + Send + Sync>>>;
}

/// Runs functions. The functions service does.
pub trait FunctionRunner: Send + Sync {
    /// Makes the sources in a folder ready to start without a network: what they import is
    /// fetched, and they are read once. Gives what a person needs to know if they cannot be used.
    fn prepare<'a>(
        &'a self,
        project: &'a Project,
        source: &'a FunctionSource,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<(), BadSource>>;

    /// Functions or secrets of a project changed: what is running is replaced, and no request is
    /// lost over it.
    fn changed<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, ()>;

    /// A project is gone for good: nothing of it runs or lies on the disk any more.
    fn forget<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, std::io::Result<()>>;
}

/// Sources that cannot be run, in the runtime's own words: file, line, reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSource(pub String);
