//! The interface between the platform, which stores functions, and the service that runs them.
//!
//! The platform stores deployed functions ([`FunctionStore`]); the functions service runs them and
//! prepares new deployments ([`FunctionRunner`]).

use std::{collections::BTreeMap, error::Error, path::Path};

use plinth_db::DbError;
use plinth_token::Secret;
use uuid::Uuid;

use crate::{BoxFuture, Project, ProjectRef};

/// One deployed version of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployedFunction {
    /// The function, whatever its version.
    pub id: Uuid,
    /// Its name in URLs.
    pub slug: String,
    /// Counts from 1.
    pub version: i32,
    /// Whether callers need a credential of the project.
    pub verify_jwt: bool,
    /// How its sources are run.
    pub source: FunctionSource,
}

/// How a version is run; paths are relative to the folder of its sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSource {
    /// The module that handles requests.
    pub entrypoint: String,
    /// Its import map or `deno.json`.
    pub import_map: Option<String>,
    /// Patterns of files that it may read while it runs.
    pub static_patterns: Vec<String>,
}

/// Stores deployed functions and the secrets of projects; implemented by the platform.
pub trait FunctionStore: Send + Sync {
    /// The active version of each function of a project.
    fn functions<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<Vec<DeployedFunction>, DbError>>;

    /// Writes the sources of a version into an empty folder.
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

/// Sources cannot be unpacked.
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

/// URLs and keys of a project, which every function of it receives besides its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionEnvironment {
    /// The project's base URL for workers, without a slash at its end.
    pub api_url: String,
    /// The project's public base URL.
    pub public_url: String,
    /// The connection string of the project's owner, with the address for workers.
    pub database_url: Secret,
    /// The legacy keys.
    pub anon_key: Secret,
    pub service_role_key: Secret,
    /// Opaque keys by name.
    pub publishable_keys: BTreeMap<String, Secret>,
    pub secret_keys: BTreeMap<String, Secret>,
}

/// Knows addresses and keys of projects; implemented by the binary.
pub trait FunctionHost: Send + Sync {
    /// URLs and keys of a project.
    fn environment<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<FunctionEnvironment, Box<dyn Error + Send + Sync>>>;
}

/// Runs functions; implemented by the functions service.
pub trait FunctionRunner: Send + Sync {
    /// Prepares the sources in a folder so that they start without a network: fetches their imports
    /// and checks them once.
    fn prepare<'a>(
        &'a self,
        project: &'a Project,
        source: &'a FunctionSource,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<(), PreparationError>>;

    /// Reloads a project after a change of its functions or secrets: workers are replaced without
    /// losing requests.
    fn reload<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, ()>;

    /// Stops the workers of a deleted project and removes its files. Idempotent.
    fn remove_project<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, std::io::Result<()>>;
}

/// Sources that cannot be run, with the runtime's message: file, line, reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// Why sources were not prepared.
#[derive(Debug, thiserror::Error)]
pub enum PreparationError {
    /// They cannot be run.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// They could not be stored here, for example because the disk is full.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
