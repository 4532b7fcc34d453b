//! One request: its project, its caller, its settings, and the ways to the database.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use plinth_project::{AsCaller, Caller, CallerError, Credentials, Project};
use plinth_token::{SERVICE_ROLE, TokenError};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use tokio_util::task::TaskTracker;

use super::{Fields, MAX_JSON_BYTES};
use crate::{
    blobs::Blobs,
    config::StorageConfig,
    error::{Code, StorageError},
    signed_url::jwt_message,
};

/// Everything that a handler needs to know.
pub(crate) struct Context {
    pub(crate) project: Project,
    pub(crate) config: Arc<StorageConfig>,
    pub(crate) blobs: Blobs,
    pub(crate) parts: Parts,
    /// The one time of the request.
    pub(crate) now: OffsetDateTime,
    caller: Result<Caller, CallerError>,
    /// What the caller showed, as it came.
    shown: Option<String>,
    service_role: Caller,
    /// What policies can read as `storage.operation()`.
    operation: &'static str,
    tasks: TaskTracker,
}

impl Context {
    pub(crate) fn new(
        project: Project,
        config: Arc<StorageConfig>,
        blobs: Blobs,
        parts: Parts,
        operation: &'static str,
        tasks: TaskTracker,
    ) -> Self {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let caller = caller_of(&project, &parts, now);
        Self::with(project, config, blobs, parts, operation, tasks, caller)
    }

    /// For a protocol that finds out itself who calls.
    pub(crate) fn of_caller(
        project: Project,
        config: Arc<StorageConfig>,
        blobs: Blobs,
        parts: Parts,
        operation: &'static str,
        tasks: TaskTracker,
        caller: Caller,
    ) -> Self {
        Self::with(project, config, blobs, parts, operation, tasks, Ok(caller))
    }

    fn with(
        project: Project,
        config: Arc<StorageConfig>,
        blobs: Blobs,
        parts: Parts,
        operation: &'static str,
        tasks: TaskTracker,
        caller: Result<Caller, CallerError>,
    ) -> Self {
        let shown = bearer(&parts).map(str::to_owned);
        Self {
            project,
            config,
            blobs,
            parts,
            now: OffsetDateTime::now_utc(),
            caller,
            shown,
            service_role: Caller::of_service(SERVICE_ROLE),
            operation,
            tasks,
        }
    }

    /// Does something that must not stop half-way, even if the client goes away meanwhile.
    pub(crate) async fn to_the_end<T: Send + 'static>(
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
        Fields::of_query(self.parts.uri.query())
    }

    /// Whoever calls; a refusal where nobody does.
    pub(crate) fn caller(&self) -> Result<&Caller, StorageError> {
        self.caller.as_ref().map_err(refuse_caller)
    }

    /// The same where a missing token is reported as a bad one.
    pub(crate) fn caller_by_token(&self) -> Result<&Caller, StorageError> {
        self.caller.as_ref().map_err(|error| match error {
            CallerError::Missing => refuse_caller(&CallerError::Token(TokenError::Empty)),
            error => refuse_caller(error),
        })
    }

    /// Whoever calls, where nobody need.
    pub(crate) fn maybe_caller(&self) -> Option<&Caller> {
        self.caller.as_ref().ok()
    }

    /// Refuses everybody but the service role.
    pub(crate) fn require_service_role(&self) -> Result<(), StorageError> {
        match self.caller()?.role() == SERVICE_ROLE {
            true => Ok(()),
            false => {
                Err(StorageError::access_denied("Access denied: Invalid role").with_true_status())
            }
        }
    }

    /// Who will own what the caller writes.
    pub(crate) fn owner(&self) -> Option<&str> {
        let sub = self.maybe_caller()?.sub();
        sub.filter(|sub| !sub.is_empty())
    }

    /// Work with the caller's rights.
    pub(crate) fn as_caller(&self) -> Result<AsCaller<'_>, StorageError> {
        Ok(self.work_as(self.caller()?))
    }

    /// Work that this service has decided about itself.
    pub(crate) fn as_service_role(&self) -> AsCaller<'_> {
        self.work_as(&self.service_role)
    }

    fn work_as<'a>(&'a self, caller: &'a Caller) -> AsCaller<'a> {
        let timeout = self.config.statement_timeout.as_millis().to_string();
        let sub = caller.sub();
        let shown = self.shown.as_deref().filter(|_| caller.token().is_some());
        self.project
            .db
            .as_caller(caller)
            .setting("search_path", "storage, public, extensions")
            .setting("storage.operation", self.operation)
            .setting("storage.allow_delete_query", "true")
            .setting("statement_timeout", timeout)
            .setting("request.jwt", shown.unwrap_or_default())
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

/// Upstream takes a token also without the word `Bearer` in front of it.
fn caller_of(project: &Project, parts: &Parts, now: i64) -> Result<Caller, CallerError> {
    let credentials = parts.extensions.get::<Credentials>();
    let has_scheme = |text: &str| {
        let scheme = text.split(' ').next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer")
    };
    let bare = authorization(parts).filter(|text| !has_scheme(text));
    let by_key = credentials.is_some_and(|credentials| credentials.api_key.is_some());
    let caller = match (bare, credentials) {
        // What is no token of ours may be meant for a proxy, if there is a key as well.
        (Some(bare), _) if !(by_key && bare.contains(' ')) => {
            Credentials::read_bearer(project, bare, now)
        }
        (_, Some(credentials)) => credentials.caller(),
        (_, None) => Err(CallerError::Missing),
    };
    caller.and_then(refuse_link)
}

/// A link to one file is nobody's identity. People may have a claim of that name, but they have a
/// role as well.
fn refuse_link(caller: Caller) -> Result<Caller, CallerError> {
    let claims = caller.token().map(|token| token.claims());
    let is_link =
        |claims: &Map<String, Value>| claims.contains_key("url") && !claims.contains_key("role");
    match claims.is_some_and(is_link) {
        true => Err(CallerError::Missing),
        false => Ok(caller),
    }
}

/// Whoever shows a token in a way of another protocol.
pub(crate) fn caller_of_token(
    project: &Project,
    token: &str,
    now: i64,
) -> Result<Caller, StorageError> {
    Credentials::read_bearer(project, token, now)
        .and_then(refuse_link)
        .map_err(|error| refuse_caller(&error))
}

/// The header, unless it is empty.
fn authorization(parts: &Parts) -> Option<&str> {
    let text = parts.headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    (!text.is_empty()).then_some(text)
}

/// What the header shows, with or without the word in front.
fn bearer(parts: &Parts) -> Option<&str> {
    authorization(parts)?.split(' ').next_back()
}

fn refuse_caller(error: &CallerError) -> StorageError {
    match error {
        CallerError::Missing => {
            let message = "headers must have required property 'authorization'";
            StorageError::invalid_field(message)
        }
        CallerError::Token(error) => StorageError::access_denied(jwt_message(error)),
        CallerError::UnknownApiKey | CallerError::LegacyKeyDisabled => {
            StorageError::access_denied(error.to_string())
        }
    }
}

/// A small JSON body as fields.
pub(crate) async fn read_fields(body: Body) -> Result<Fields, StorageError> {
    Fields::of_body(&read_small(body).await?)
}

/// A small body as a whole.
pub(crate) async fn read_small(body: Body) -> Result<Bytes, StorageError> {
    match Limited::new(body, MAX_JSON_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(
                StorageError::new(Code::EntityTooLarge, 413, "Request body is too large")
                    .labelled("FastifyError")
                    .with_true_status(),
            )
        }
        Err(error) => Err(aborted(error)),
    }
}

/// The client went away, or its body was not what it announced.
pub(crate) fn aborted(error: impl ToString) -> StorageError {
    StorageError::invalid_request(format!(
        "The request's body ended early: {}",
        error.to_string()
    ))
}

/// Tells the client to stop sending: what it sends will not be read.
pub(crate) fn closing(mut response: Response) -> Response {
    let close = http::HeaderValue::from_static("close");
    response
        .headers_mut()
        .insert(http::header::CONNECTION, close);
    response
}
