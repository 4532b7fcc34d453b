//! Stored projects and the directory in which they are looked up.

use std::{fmt, future::Future, pin::Pin, str::FromStr};

use plinth_db::DbError;

use crate::{Logins, ProjectKeys, ProjectName, ProjectRef, ServerName};

/// A boxed future, so that [`Directory`] can be a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The directory of projects; implemented by the platform over its tables.
pub trait Directory: Send + Sync {
    /// The project of that name, with decrypted secrets.
    fn find<'a>(
        &'a self,
        name: &'a ProjectName,
    ) -> BoxFuture<'a, Result<Option<ProjectRecord>, DirectoryError>>;
}

/// Why a lookup failed.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The platform's database cannot be queried.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The row cannot be used, for example because of another instance key.
    #[error("project {reference} cannot be read: {reason}")]
    Unreadable {
        /// The project in question.
        reference: ProjectRef,
        /// What is wrong.
        reason: String,
    },
}

/// One project as the platform stores it.
#[derive(Debug, Clone)]
pub struct ProjectRecord {
    /// Its ref.
    pub reference: ProjectRef,
    /// Display name.
    pub name: String,
    /// Platform, default or ordinary project.
    pub kind: ProjectKind,
    /// Whether it is served.
    pub status: ProjectStatus,
    /// Which server holds its database.
    pub server: ServerName,
    /// The name of its database.
    pub database: String,
    /// Passwords of its login roles.
    pub logins: Logins,
    /// Its keys.
    pub keys: ProjectKeys,
    /// Settings that operators stored.
    pub settings: serde_json::Map<String, serde_json::Value>,
}

/// Kind of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectKind {
    /// Project zero.
    Platform,
    /// The one served at the root.
    Default,
    /// Any other.
    Ordinary,
}

/// Status of a project, as in the Management API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectStatus {
    /// Being created; removed at the next start if that was interrupted.
    ComingUp,
    /// Served.
    ActiveHealthy,
    /// Paused: keeps its data; requests get 503.
    Inactive,
    /// In the trash until it is purged.
    Removed,
}

impl ProjectStatus {
    /// The value in the API and in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ComingUp => "COMING_UP",
            Self::ActiveHealthy => "ACTIVE_HEALTHY",
            Self::Inactive => "INACTIVE",
            Self::Removed => "REMOVED",
        }
    }
}

impl fmt::Display for ProjectStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProjectStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [
            Self::ComingUp,
            Self::ActiveHealthy,
            Self::Inactive,
            Self::Removed,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
        .ok_or_else(|| format!("unknown project status {text:?}"))
    }
}
