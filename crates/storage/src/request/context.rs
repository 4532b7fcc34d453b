//! What a request carries: its project, its caller, its settings, and access to the database.

use std::sync::Arc;

use http::{HeaderMap, Request, request::Parts};
use plinth_project::{AsCaller, Caller, CallerError, Project};
use plinth_token::{SERVICE_ROLE, Secret, TokenError};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use tokio_util::task::TaskTracker;

use super::{
    credentials::{bearer_token, caller_error, read_caller},
    fields::Fields,
};
use crate::{blobs::Blobs, config::StorageConfig, error::StorageError};

/// What all requests to a project share.
#[derive(Clone)]
pub(crate) struct ProjectContext {
    pub(crate) project: Project,
    pub(crate) config: Arc<StorageConfig>,
    pub(crate) blobs: Blobs,
    /// Runs work that must finish even if the client disconnects.
    pub(crate) tasks: TaskTracker,
}

/// What one request carries through the service.
pub(crate) struct RequestContext {
    pub(crate) project: Project,
    pub(crate) config: Arc<StorageConfig>,
    pub(crate) blobs: Blobs,
    pub(crate) parts: Parts,
    /// The one time of the request.
    pub(crate) now: OffsetDateTime,
    caller: Result<Caller, CallerError>,
    /// The token of `Authorization`, unverified.
    bearer_token: Option<Secret>,
    service_role: Caller,
    /// What policies can read as `storage.operation()`.
    operation: &'static str,
    tasks: TaskTracker,
}

impl RequestContext {
    /// A request whose credential is read here.
    pub(crate) fn new(project: ProjectContext, parts: Parts, operation: &'static str) -> Self {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let caller = read_caller(&project.project, &parts, now);
        Self::build(project, parts, operation, caller)
    }

    /// A request of a protocol that has authenticated the caller itself.
    pub(crate) fn with_caller(
        project: ProjectContext,
        parts: Parts,
        operation: &'static str,
        caller: Caller,
    ) -> Self {
        Self::build(project, parts, operation, Ok(caller))
    }

    /// For work of the service itself, which no request asked for.
    pub(crate) fn internal(project: ProjectContext) -> Self {
        let (parts, ()) = Request::new(()).into_parts();
        Self::new(project, parts, "storage.object.upload")
    }

    fn build(
        project: ProjectContext,
        parts: Parts,
        operation: &'static str,
        caller: Result<Caller, CallerError>,
    ) -> Self {
        let bearer_token = bearer_token(&parts).map(Secret::new);
        Self {
            project: project.project,
            config: project.config,
            blobs: project.blobs,
            parts,
            now: OffsetDateTime::now_utc(),
            caller,
            bearer_token,
            service_role: Caller::for_service(SERVICE_ROLE),
            operation,
            tasks: project.tasks,
        }
    }

    /// Runs work in a task that finishes even if the client disconnects meanwhile.
    pub(crate) async fn run_to_completion<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Result<T, StorageError> {
        let done = self.tasks.spawn(work).await;
        done.unwrap_or_else(|error| Err(StorageError::internal(error)))
    }

    /// The request's headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// A header that is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// The query string's fields.
    pub(crate) fn query(&self) -> Fields {
        Fields::from_query(self.parts.uri.query())
    }

    /// The caller; an error without a valid credential.
    pub(crate) fn caller(&self) -> Result<&Caller, StorageError> {
        self.caller.as_ref().map_err(caller_error)
    }

    /// The same where a missing credential is reported as an invalid token.
    pub(crate) fn caller_or_invalid_token(&self) -> Result<&Caller, StorageError> {
        self.caller.as_ref().map_err(|error| match error {
            CallerError::Missing => caller_error(&CallerError::Token(TokenError::Empty)),
            error => caller_error(error),
        })
    }

    /// The caller, where a credential is optional.
    pub(crate) fn optional_caller(&self) -> Option<&Caller> {
        self.caller.as_ref().ok()
    }

    /// Rejects every role but `service_role`.
    pub(crate) fn require_service_role(&self) -> Result<(), StorageError> {
        if self.caller()?.role() == SERVICE_ROLE {
            Ok(())
        } else {
            Err(StorageError::access_denied("Access denied: Invalid role").with_status_in_rest())
        }
    }

    /// The owner of what the caller writes.
    pub(crate) fn owner(&self) -> Option<&str> {
        let sub = self.optional_caller()?.sub();
        sub.filter(|sub| !sub.is_empty())
    }

    /// The database with the caller's role and claims: policies apply.
    pub(crate) fn as_caller(&self) -> Result<AsCaller<'_>, StorageError> {
        Ok(self.database_as(self.caller()?))
    }

    /// The database as `service_role`, for what this service has authorized itself.
    pub(crate) fn as_service_role(&self) -> AsCaller<'_> {
        self.database_as(&self.service_role)
    }

    fn database_as<'a>(&'a self, caller: &'a Caller) -> AsCaller<'a> {
        let timeout = self.config.statement_timeout.as_millis().to_string();
        let sub = caller.sub();
        let token = self.bearer_token.as_ref().map(Secret::expose);
        let token = token.filter(|_| caller.token().is_some());
        self.project
            .db
            .as_caller(caller)
            .setting("search_path", "storage, public, extensions")
            .setting("storage.operation", self.operation)
            .setting("storage.allow_delete_query", "true")
            .setting("statement_timeout", timeout)
            .setting("request.jwt", token.unwrap_or_default())
            .setting("request.jwt.claim.role", caller.role())
            .setting("request.jwt.claim.sub", sub.unwrap_or_default())
            .setting("request.method", self.parts.method.as_str())
            .setting("request.path", self.parts.uri.path())
            .setting("request.headers", self.headers_as_json())
    }

    /// For policies.
    fn headers_as_json(&self) -> String {
        let headers = self.headers().iter().filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), Value::from(value)))
        });
        Value::Object(headers.collect::<Map<_, _>>()).to_string()
    }
}
