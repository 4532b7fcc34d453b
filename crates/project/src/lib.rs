//! What a service needs to serve one project: [`Project`], [`Caller`], and the [`Registry`] of open
//! projects.
//!
//! It knows no HTTP route and no service. An interface between two services is a small trait here,
//! which the binary wires.

mod allow_list;
mod body_limit;
mod caller;
mod client_address;
mod cluster;
mod connections;
mod cors;
mod database;
mod error_reference;
mod extract;

mod functions;
mod keys;
mod login_repair;
pub mod logins;
mod pages;
mod path_not_found;
mod project;
mod project_files;
mod public_url;
mod record;
mod reference;
mod registry;
mod replication;
mod request_id;
pub mod schema;
mod sent_headers;
mod servers;
mod session_cookies;
mod shared_host;
mod shared_roles;

pub use allow_list::AllowList;
pub use body_limit::BodyLimit;
pub use caller::{Caller, CallerError, Credentials, Proof};
pub use client_address::{ClientAddress, LocalAddress};
pub use cluster::{Cluster, ClusterError, prepare as prepare_cluster};
pub use connections::{ConnectionSlots, LoginLimits};
pub use cors::Cors;
pub use database::{
    ADMIN_OPTIONS, AsCaller, CallerTransaction, DatabaseAccess, DatabaseLock, LoginConnection,
    OperatorSession, ProjectDb, ROLE_CHECK_OPTIONS, RoleSettingsSource, Service,
    ServiceConnection, ServiceTransaction,
};
pub use error_reference::ErrorEntry;
pub use extract::MaybeCaller;
pub use functions::{
    DeployedFunction, FunctionEnvironment, FunctionHost, FunctionRunner, FunctionSource,
    FunctionStore, PreparationError, SourceError, UnpackError,
};
pub use keys::{ApiKey, ProjectKeys, S3Keys, S3Pair, url_signing_keys};
pub use logins::{LoginKind, Logins};
pub use pages::{CONSOLE, account_pages_url};
pub use path_not_found::PathNotFound;
pub use project::{FromSettings, KeepOpen, Project};
pub use project_files::{FileCheck, ProjectFiles};
pub use public_url::PublicUrl;
pub use record::{BoxFuture, Directory, DirectoryError, ProjectKind, ProjectRecord, ProjectStatus};
pub use reference::{ProjectName, ProjectRef, ProjectRefError};
pub use registry::{OpenError, Registry, RegistryParts, SettingsFor};
pub use replication::{Replicator, SlotStream};
pub use request_id::RequestId;
pub use sent_headers::SentHeaders;
pub use servers::{
    ProjectServer, ProjectServers, RunningServer, ServerLease, ServerName, ServerRunner,
};
pub use session_cookies::{
    OPERATOR_COOKIE, host_cookie_name, session_cookie_name, session_cookie_path, url_path,
};
pub use shared_host::{is_in_other_project, other_project_paths};
pub use shared_roles::undo_role_changes;
