//! The platform: projects, branches, keys, operators' tokens, and the API over them, which the
//! command line uses through the control socket (console contract §2).
//!
//! Its tables are in project zero. [`Bootstrap`] prepares a cluster; [`Platform`] is the handle for
//! everything else, and implements the directory that projects are looked up in.

mod account;
mod advisors;
pub mod api;
mod audit;
mod bootstrap;
mod branch_review;
mod database_password;
mod databases;
mod directory;
mod doctor;
mod doctor_projects;
mod error;
mod functions;
mod jobs;
mod keys;
mod landing_page;
mod mailbox;
mod organizations;
pub mod owner_sql;
mod platform;
mod projects;
mod schema;
mod sealed;
mod secrets;
mod servers;
mod shared_roles;
mod sql_statements;
mod status;
mod tokens;
pub mod user_migrations;

pub use account::{Assets, account_pages, is_account_page};
pub use bootstrap::{Bootstrap, ConnectionShare, DefaultDatabase, LOCAL_OWNER_PASSWORD};
pub use doctor::{Check, Severity};
pub use error::{PlatformError, error_reference};
pub use functions::{
    Activation, Bundle, Deployment, FunctionUpdate, MAX_BUNDLE_BYTES, SourceFile, StoredFunction,
    StoredVersion,
};
pub use jobs::{Job, JobState};
pub use keys::{
    ApiKeyRequest, ConfiguredKeys, LegacyKeys, S3CredentialRequest, StoredApiKey,
    StoredS3Credential, StoredSigningKey,
};
pub use landing_page::landing_page;
pub use organizations::Organization;
pub use platform::{Endpoints, Platform, References};
pub use projects::{Branch, BranchChanges, BranchRequest, CopyMethod, ProjectRequest, ProjectRow};
pub use secrets::StoredSecret;
pub use servers::IsolatedServer;
pub use status::Status;
pub use tokens::{StoredToken, TokenLimits, TokenRequest};
pub use user_migrations::{MigrationFile, SeedFile, SeedOutcome};
