//! What a service needs to serve one project: [`Project`], [`Caller`], and the [`Registry`] of
//! those that are open.
//!
//! It knows no HTTP route and no service. What one service must tell another is declared here as
//! a small trait and wired by the binary.

mod body_limit;
mod caller;
mod client_address;
mod cluster;
mod cors;
mod database;
mod extract;
mod file_keeper;
mod functions;
mod keys;
pub mod logins;
mod not_served;
mod pages;
mod project;
mod public_url;
mod record;
mod reference;
mod registry;
mod replication;
mod request_id;
pub mod schema;

pub use body_limit::BodyLimit;
pub use caller::{Caller, CallerError, Credentials, Proof};
pub use client_address::{ClientAddress, LocalAddress};
pub use cluster::{Cluster, ClusterError, prepare as prepare_cluster};
pub use cors::Cors;
pub use database::{
    ADMIN_OPTIONS, AsCaller, CallerTransaction, Held, LoginConnection, ProjectDb, Service,
    ServiceConnection, ServiceTransaction,
};
pub use extract::MaybeCaller;
pub use file_keeper::{FileCheck, FileKeeper};
pub use functions::{
    BadSource, DeployedFunction, FunctionHost, FunctionRunner, FunctionShelf, FunctionSource,
    FunctionSurroundings, UnpackError,
};
pub use keys::{ApiKey, ProjectKeys, S3Keys, S3Pair, url_signing_keys};
pub use logins::{LoginKind, Logins};
pub use not_served::NotServed;
pub use pages::{CONSOLE, account_pages_url};
pub use project::{FromSettings, Project, StayOpen};
pub use public_url::PublicUrl;
pub use record::{BoxFuture, Directory, DirectoryError, ProjectKind, ProjectRecord, ProjectStatus};
pub use reference::{BadProjectRef, ProjectName, ProjectRef};
pub use registry::{OpenError, Registry, RegistryParts, SettingsFor};
pub use replication::{Following, Replicator};
pub use request_id::RequestId;
