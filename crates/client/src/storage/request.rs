//! Requests to the storage service.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{StorageError, path};
use crate::call_options::CallOptions;
use crate::client::{Base, TokenSource};
use crate::http::{HttpResponse, Outgoing, StreamedBody, StreamedResponse, client_info};

/// Client state that a request needs.
#[derive(Clone)]
pub(super) struct RequestContext {
    pub(super) base: Arc<Base>,
    pub(super) tokens: Arc<dyn TokenSource>,
}

/// A request.
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

impl RequestContext {
    /// The address of the service, without a slash at the end.
    pub(super) fn root(&self) -> String {
        self.base.url.service("storage/v1")
    }

    /// Sends it; returns a successful response.
    pub(super) async fn response(
        &self,
        call: Call,
        options: &CallOptions,
    ) -> Result<HttpResponse, StorageError> {
        let request = self.request(call, options).await?;
        check_status(self.base.http.send(request).await?)
    }

    /// Sends it; deserializes the response as this type.
    pub(super) async fn json<T: DeserializeOwned>(
        &self,
        call: Call,
        options: &CallOptions,
    ) -> Result<T, StorageError> {
        read_json(&self.response(call, options).await?)
    }

    /// The same with streamed bodies.
    pub(super) async fn stream(
        &self,
        call: Call,
        body: Option<StreamedBody>,
        options: &CallOptions,
    ) -> Result<StreamedResponse, StorageError> {
        let request = self.request(call, options).await?;
        let max_error_bytes = request.max_response_bytes;
        let response = self.base.http.stream(request, body).await?;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        let response = response.collect(max_error_bytes).await?;
        Err(StorageError::from_response(&response))
    }

    /// With the signed-in user's token. Headers of the caller take precedence over those of the call, and those over
    /// the client's.
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

pub(super) fn check_status(response: HttpResponse) -> Result<HttpResponse, StorageError> {
    if response.is_success() {
        Ok(response)
    } else {
        Err(StorageError::from_response(&response))
    }
}

pub(super) fn read_json<T: DeserializeOwned>(response: &HttpResponse) -> Result<T, StorageError> {
    serde_json::from_slice(&response.body).map_err(StorageError::unreadable)
}

/// A request whose only options are timeout and headers.
#[must_use = "nothing is sent before `send`"]
pub struct StorageRequest<T> {
    context: RequestContext,
    call: Result<Call, StorageError>,
    read: fn(Result<HttpResponse, StorageError>) -> Result<T, StorageError>,
    options: CallOptions,
}

impl<T> StorageRequest<T> {
    pub(super) fn new(
        context: &RequestContext,
        call: Result<Call, StorageError>,
        read: fn(Result<HttpResponse, StorageError>) -> Result<T, StorageError>,
    ) -> Self {
        Self {
            context: context.clone(),
            call,
            read,
            options: CallOptions::default(),
        }
    }

    /// Sets the timeout.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.timeout = Some(limit);
        self
    }

    /// Sets a header, replacing the default of this name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.options.set_header(name, value);
        self
    }

    /// Sends the request.
    pub async fn send(self) -> Result<T, StorageError> {
        (self.read)(self.context.response(self.call?, &self.options).await)
    }
}
