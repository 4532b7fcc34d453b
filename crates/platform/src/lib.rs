//! The platform: projects, branches, keys, operators' tokens, the API over them and the control
//! socket that the command line speaks to (console contract §2).
//!
//! Its tables live in project zero. [`Bootstrap`] makes a cluster carry Plinth; [`Platform`] is
//! what everything else is done through, and the directory that open projects come from.

mod account;
pub mod api;
mod audit;
mod bootstrap;
mod databases;
mod directory;
mod doctor;
mod error;
mod functions;
mod jobs;
mod keys;
mod landing;
mod mailbox;
mod organizations;
mod platform;
mod projects;
mod schema;
mod sealed;
mod secrets;
mod status;
mod tokens;
pub mod user_migrations;

pub use account::{Assets, account_pages, is_account_page};
pub use bootstrap::{Bootstrap, DefaultDatabase, WELL_KNOWN};
pub use doctor::{Check, Finding};
pub use error::PlatformError;
pub use functions::{
    Activation, Bundle, Deployment, FunctionUpdate, MAX_BUNDLE_BYTES, SourceFile, StoredFunction,
    StoredVersion,
};
pub use jobs::{Job, JobState};
pub use keys::{
    ApiKeyRequest, GivenKeys, LegacyKeys, S3CredentialRequest, StoredApiKey, StoredS3Credential,
    StoredSigningKey,
};
pub use landing::landing_page;
pub use organizations::Organization;
pub use platform::{Endpoints, Platform, References};
pub use projects::{Branch, BranchRequest, CopyMethod, ProjectRequest, ProjectRow};
pub use secrets::StoredSecret;
pub use status::Status;
pub use tokens::{StoredToken, TokenLimits, TokenRequest};
pub use user_migrations::{MigrationFile, SeedFile, SeedOutcome};
