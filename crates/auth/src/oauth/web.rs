//! Calls to providers: bounded in time and size, and only where we may call.

use std::time::Duration;

use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;
use url::{Host, Url};

use super::guard;
use crate::request::Context;

const MAX_BYTES: usize = 1024 * 1024;
const MAX_QUOTED_CHARS: usize = 200;

/// How providers are called.
pub(super) struct Web<'a> {
    client: &'a reqwest::Client,
    timeout: Duration,
    reach: Reach,
}

/// Where calls may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Wherever the operator's settings say.
    Anywhere,
    /// Public places, with TLS.
    Public,
    /// Tests': this machine too, which is called without TLS.
    PublicAndHere,
}

/// Why a call came to nothing. For the log.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebError {
    #[error("{0} is not a URL that may be called")]
    Forbidden(String),
    #[error("the call failed: {0}")]
    Failed(#[from] reqwest::Error),
    #[error("the answer was {0}: {1}")]
    Status(StatusCode, String),
    #[error("the answer is larger than 1 MiB")]
    TooLarge,
    #[error("the answer is not what was expected: {0}")]
    Unexpected(String),
}

/// An answer read to its end.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

impl<'a> Web<'a> {
    /// To places that the settings name.
    pub(super) fn configured(context: &'a Context) -> Self {
        Self {
            client: context.service.http(),
            timeout: context.config.http_timeout,
            reach: Reach::Anywhere,
        }
    }

    /// To places that somebody defined over the API.
    pub(super) fn guarded(context: &'a Context) -> Self {
        let reach = match context.config.custom_providers.allows_local_urls {
            true => Reach::PublicAndHere,
            false => Reach::Public,
        };
        Self {
            client: match reach {
                Reach::PublicAndHere => context.service.http(),
                _ => context.service.discovery().guarded_client(),
            },
            timeout: context.config.http_timeout,
            reach,
        }
    }

    pub(super) fn get(&self, url: &str) -> Result<RequestBuilder, WebError> {
        Ok(self.prepare(self.client.get(self.checked(url)?)))
    }

    pub(super) fn post(&self, url: &str) -> Result<RequestBuilder, WebError> {
        Ok(self.prepare(self.client.post(self.checked(url)?)))
    }

    fn prepare(&self, request: RequestBuilder) -> RequestBuilder {
        request
            .timeout(self.timeout)
            .header(http::header::ACCEPT, "application/json")
    }

    fn checked(&self, text: &str) -> Result<Url, WebError> {
        let forbidden = || WebError::Forbidden(text.chars().take(MAX_QUOTED_CHARS).collect());
        let mut url = Url::parse(text).map_err(|_| forbidden())?;
        let is_here = is_here(&url);
        let may_call = match self.reach {
            Reach::Anywhere => matches!(url.scheme(), "http" | "https"),
            Reach::Public => url.scheme() == "https" && guard::is_public_host(&url),
            Reach::PublicAndHere => url.scheme() == "https",
        };
        if !may_call {
            return Err(forbidden());
        }
        if self.reach == Reach::PublicAndHere && is_here {
            url.set_scheme("http").map_err(|()| forbidden())?;
        }
        Ok(url)
    }

    /// The answer whatever its status.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Answer, WebError> {
        // URLs may carry proofs, which do not belong into the log.
        let hide = |error: reqwest::Error| WebError::Failed(error.without_url());
        let mut response = request.send().await.map_err(hide)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(hide)? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err(WebError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        let status = response.status();
        Ok(Answer { status, body })
    }

    /// The JSON of a successful answer.
    pub(super) async fn json(&self, request: RequestBuilder) -> Result<Value, WebError> {
        self.send(request).await?.success()?.json()
    }
}

impl Answer {
    /// Only a success.
    pub(super) fn success(self) -> Result<Self, WebError> {
        match self.status.is_success() {
            true => Ok(self),
            false => Err(WebError::Status(self.status, self.quoted())),
        }
    }

    pub(super) fn json(&self) -> Result<Value, WebError> {
        serde_json::from_slice(&self.body).map_err(|error| WebError::Unexpected(error.to_string()))
    }

    /// The beginning, for the log.
    fn quoted(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        text.chars().take(MAX_QUOTED_CHARS).collect()
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => guard::is_this_machine(name),
        None => false,
    }
}
