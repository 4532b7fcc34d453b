//! Requests to the storage service: whose they are, and what came of them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{StorageError, path};
use crate::call_options::CallOptions;
use crate::client::{Base, TokenSource};
use crate::http::{Answer, Outgoing, StreamedAnswer, StreamedBody, client_info};

/// What a request needs of its client.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) base: Arc<Base>,
    pub(super) tokens: Arc<dyn TokenSource>,
}

/// A request in its parts.
pub(super) struct Call {
    method: Method,
    /// Below `/storage/v1/`, encoded.
    path: String,
    query: Vec<(&'static str, String)>,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Call {
    pub(super) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    pub(super) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub(super) fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        let value = value.map(|value| (name, value.to_string()));
        self.query.extend(value);
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    pub(super) fn bytes(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }

    pub(super) fn json(self, body: &impl Serialize) -> Result<Self, StorageError> {
        let body = serde_json::to_vec(body)
            .map_err(|_| StorageError::InvalidInput("a value cannot be written as JSON"))?;
        Ok(self
            .header("content-type", "application/json")
            .bytes(body.into()))
    }
}

impl Context {
    /// The address of the service, without a slash at the end.
    pub(super) fn root(&self) -> String {
        self.base.url.service("storage/v1")
    }

    /// The answer, if it is a good one.
    pub(super) async fn answer(
        &self,
        call: Call,
        options: &CallOptions,
    ) -> Result<Answer, StorageError> {
        let request = self.request(call, options).await?;
        good(self.base.http.send(request).await?)
    }

    /// The answer, read as this type.
    pub(super) async fn json<T: DeserializeOwned>(
        &self,
        call: Call,
        options: &CallOptions,
    ) -> Result<T, StorageError> {
        read_json(&self.answer(call, options).await?)
    }

    /// The same with bodies that pass through in pieces.
    pub(super) async fn stream(
        &self,
        call: Call,
        body: Option<StreamedBody>,
        options: &CallOptions,
    ) -> Result<StreamedAnswer, StorageError> {
        let request = self.request(call, options).await?;
        let max_refusal_bytes = request.max_answer_bytes;
        let answer = self.base.http.stream(request, body).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        let answer = answer.collect(max_refusal_bytes).await?;
        Err(StorageError::from_answer(&answer))
    }

    /// In the name of the user who is signed in. What the caller says about a header counts more
    /// than what the call says, and that more than what the client says.
    pub(super) async fn request(
        &self,
        call: Call,
        options: &CallOptions,
    ) -> Result<Outgoing, StorageError> {
        let unsendable = StorageError::InvalidInput("a header cannot be sent as given");
        if options.is_unsendable {
            return Err(unsendable);
        }
        let timeout = options.timeout.or(self.base.timeout);
        let token = self.base.http.within(timeout, self.tokens.token());
        let token = token.await??;
        let mut request = Outgoing::new(call.method.clone(), self.url(&call));
        request.headers = self.base.headers.clone();
        for (name, value) in &call.headers {
            let value = HeaderValue::from_str(value).map_err(|_| unsendable.clone())?;
            request.headers.insert(HeaderName::from_static(name), value);
        }
        for (name, value) in &options.headers {
            request.headers.insert(name, value.clone());
        }
        request.default_key(&self.base.key);
        let bearer = format!("Bearer {}", token.as_deref().unwrap_or(&self.base.key));
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|_| unsendable)?;
        bearer.set_sensitive(true);
        request
            .headers
            .entry(header::AUTHORIZATION)
            .or_insert(bearer);
        request.default_header(HeaderName::from_static("x-client-info"), &client_info());
        request.body = call.body;
        request.timeout = timeout;
        Ok(request)
    }

    fn url(&self, call: &Call) -> String {
        let query = path::query(
            call.query
                .iter()
                .map(|(name, value)| (*name, value.as_str())),
        );
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}/{}{mark}{query}", self.root(), call.path)
    }
}

pub(super) fn good(answer: Answer) -> Result<Answer, StorageError> {
    match answer.is_success() {
        true => Ok(answer),
        false => Err(StorageError::from_answer(&answer)),
    }
}

pub(super) fn read_json<T: DeserializeOwned>(answer: &Answer) -> Result<T, StorageError> {
    serde_json::from_slice(&answer.body).map_err(StorageError::unreadable)
}

/// A request that has nothing to set but a time limit and headers.
#[must_use = "nothing is sent before `send`"]
pub struct StorageRequest<T> {
    context: Context,
    call: Result<Call, StorageError>,
    read: fn(Result<Answer, StorageError>) -> Result<T, StorageError>,
    options: CallOptions,
}

impl<T> StorageRequest<T> {
    pub(super) fn new(
        context: &Context,
        call: Result<Call, StorageError>,
        read: fn(Result<Answer, StorageError>) -> Result<T, StorageError>,
    ) -> Self {
        Self {
            context: context.clone(),
            call,
            read,
            options: CallOptions::default(),
        }
    }

    /// Gives up after this long.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.timeout = Some(limit);
        self
    }

    /// Sends a header along, replacing what would be sent under this name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.options.set_header(name, value);
        self
    }

    /// Sends the request.
    pub async fn send(self) -> Result<T, StorageError> {
        (self.read)(self.context.answer(self.call?, &self.options).await)
    }
}
