//! HTTP calls to providers, with a timeout, a size limit and a check of the host.

use std::time::Duration;

use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;
use url::{Host, Url};

use super::ssrf;
use crate::request::RequestContext;

const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
const MAX_EXCERPT_CHARS: usize = 200;

/// The HTTP client for calls to providers.
pub(super) struct HttpClient<'a> {
    client: &'a reqwest::Client,
    timeout: Duration,
    allowed: AllowedHosts,
}

/// Hosts that may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowedHosts {
    /// For URLs in the operator's settings.
    Any,
    /// Public addresses over TLS.
    Public,
    /// For tests: also loopback addresses, without TLS.
    PublicAndLoopback,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("{0} is not a URL that may be called")]
    Forbidden(String),
    #[error("the call failed: {0}")]
    Failed(#[from] reqwest::Error),
    #[error("unexpected response: {0}: {1}")]
    Status(StatusCode, String),
    #[error("the response is larger than 1 MiB")]
    TooLarge,
    #[error("unexpected response body: {0}")]
    Unexpected(String),
}

/// A response with its whole body.
pub(super) struct HttpResponse {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

impl<'a> HttpClient<'a> {
    /// For URLs in the settings.
    pub(super) fn configured(context: &'a RequestContext) -> Self {
        Self {
            client: context.service.http(),
            timeout: context.config.http_timeout,
            allowed: AllowedHosts::Any,
        }
    }

    /// For URLs defined over the API.
    pub(super) fn public_only(context: &'a RequestContext) -> Self {
        let allowed = if context.config.custom_providers.allows_local_urls {
            AllowedHosts::PublicAndLoopback
        } else {
            AllowedHosts::Public
        };
        Self {
            client: match allowed {
                AllowedHosts::PublicAndLoopback => context.service.http(),
                _ => context.service.discovery().public_only_client(),
            },
            timeout: context.config.http_timeout,
            allowed,
        }
    }

    pub(super) fn get(&self, url: &str) -> Result<RequestBuilder, HttpError> {
        Ok(self.prepare(self.client.get(self.check_url(url)?)))
    }

    pub(super) fn post(&self, url: &str) -> Result<RequestBuilder, HttpError> {
        Ok(self.prepare(self.client.post(self.check_url(url)?)))
    }

    fn prepare(&self, request: RequestBuilder) -> RequestBuilder {
        request
            .timeout(self.timeout)
            .header(http::header::ACCEPT, "application/json")
    }

    fn check_url(&self, text: &str) -> Result<Url, HttpError> {
        let forbidden = || HttpError::Forbidden(text.chars().take(MAX_EXCERPT_CHARS).collect());
        let mut url = Url::parse(text).map_err(|_| forbidden())?;
        let is_loopback = is_loopback(&url);
        let may_call = match self.allowed {
            AllowedHosts::Any => matches!(url.scheme(), "http" | "https"),
            AllowedHosts::Public => url.scheme() == "https" && ssrf::is_public_host(&url),
            AllowedHosts::PublicAndLoopback => url.scheme() == "https",
        };
        if !may_call {
            return Err(forbidden());
        }
        if self.allowed == AllowedHosts::PublicAndLoopback && is_loopback {
            url.set_scheme("http").map_err(|()| forbidden())?;
        }
        Ok(url)
    }

    /// Sends the request; any status is returned as a response.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<HttpResponse, HttpError> {
        // URLs may contain secrets, which must not be logged.
        let hide = |error: reqwest::Error| HttpError::Failed(error.without_url());
        let mut response = request.send().await.map_err(hide)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(hide)? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(HttpError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        let status = response.status();
        Ok(HttpResponse { status, body })
    }

    /// The JSON of a successful response.
    pub(super) async fn json(&self, request: RequestBuilder) -> Result<Value, HttpError> {
        self.send(request).await?.success()?.json()
    }
}

impl HttpResponse {
    /// An error unless the status is a success.
    pub(super) fn success(self) -> Result<Self, HttpError> {
        if self.status.is_success() {
            Ok(self)
        } else {
            Err(HttpError::Status(self.status, self.excerpt()))
        }
    }

    pub(super) fn json(&self) -> Result<Value, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| HttpError::Unexpected(error.to_string()))
    }

    /// The beginning of the body, for the error.
    fn excerpt(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        text.chars().take(MAX_EXCERPT_CHARS).collect()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => ssrf::is_localhost(name),
        None => false,
    }
}
