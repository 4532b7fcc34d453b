//! HTTP transport: over reqwest, or through any tower service.
//!
//! Independent of the services. Timeouts, size limits and clock skew (client contract S14) are handled here, so
//! that they apply to every part of the SDK.

mod over_reqwest;
mod service;
mod streaming;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::clock::{Clock, SystemClock};
use crate::runtime::{BoxFuture, MaybeSend, MaybeSync};
use crate::trace_context::CurrentTrace;
#[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
pub(crate) use over_reqwest::{reqwest_for_upgrades, transport_error as said_by_reqwest};
pub use service::HttpService;
pub(crate) use streaming::{Pieces, StreamedBody, StreamedResponse};

/// Maximum size of a response, unless its caller says otherwise.
const MAX_RESPONSE_BYTES: usize = 256 * 1024 * 1024;
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
const NO_SKEW: i64 = i64::MIN;

/// HTTP transport and clock. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Http {
    transport: Arc<dyn Transport>,
    clock: Arc<dyn Clock>,
    /// Server time minus our time, in milliseconds.
    skew_ms: Arc<AtomicI64>,
    trace: Option<Arc<dyn CurrentTrace>>,
}

/// A request failed without a response. The text contains no URL, because URLs can carry secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    message: String,
    is_timeout: bool,
}

impl TransportError {
    /// An error with this message, for custom transports.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_timeout: false,
        }
    }

    pub(crate) fn timed_out() -> Self {
        Self {
            message: "the request timed out".to_owned(),
            is_timeout: true,
        }
    }

    /// Whether the request was sent and timed out. The server may still process it.
    pub fn is_timeout(&self) -> bool {
        self.is_timeout
    }
}

/// Sends requests.
pub(crate) trait Transport: MaybeSend + MaybeSync + 'static {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<HttpResponse, TransportError>>;

    /// The same with streamed bodies in both directions. A given body replaces the request's own.
    fn stream(
        &self,
        request: Outgoing,
        body: Option<StreamedBody>,
    ) -> BoxFuture<'_, Result<StreamedResponse, TransportError>>;
}

/// A request.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_response_bytes: usize,
}

/// A response.
#[derive(Clone)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Http {
    /// The default: reqwest without redirects.
    pub fn new() -> Self {
        Self::over(over_reqwest::OverReqwest::new())
    }

    /// Uses a custom reqwest client.
    pub fn with_reqwest(client: reqwest::Client) -> Self {
        Self::over(over_reqwest::OverReqwest::with(client))
    }

    /// Uses a tower service, for example an `axum::Router` without a socket.
    pub fn with_service<S: HttpService>(service: S) -> Self {
        Self::over(service::OverService(service))
    }

    /// Replaces the system clock.
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    pub(crate) fn with_shared_clock(mut self, clock: Option<Arc<dyn Clock>>) -> Self {
        self.clock = clock.unwrap_or(self.clock);
        self
    }

    fn over(transport: impl Transport) -> Self {
        Self {
            transport: Arc::new(transport),
            clock: Arc::new(SystemClock),
            skew_ms: Arc::new(AtomicI64::new(NO_SKEW)),
            trace: None,
        }
    }

    /// Adds the trace context to every request.
    pub(crate) fn with_trace(mut self, trace: Option<Arc<dyn CurrentTrace>>) -> Self {
        self.trace = trace.or(self.trace);
        self
    }

    pub(crate) fn traced(&self, mut request: Outgoing) -> Outgoing {
        let trace = self.trace.as_ref().and_then(|trace| trace.current());
        if let Some(trace) = trace {
            trace.add_to(&mut request.headers);
        }
        request
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// How far the server's clock is ahead of ours, in milliseconds, according to its last response.
    pub fn clock_skew_ms(&self) -> Option<i64> {
        Some(self.skew_ms.load(Ordering::Relaxed)).filter(|skew| *skew != NO_SKEW)
    }

    pub(crate) async fn send(&self, request: Outgoing) -> Result<HttpResponse, TransportError> {
        let (timeout, request) = (request.timeout, self.traced(request));
        let response = self.within(timeout, self.transport.send(request)).await??;
        self.record_clock_skew(&response.headers);
        Ok(response)
    }

    /// Awaits a future with a timeout.
    pub(crate) async fn within<T>(
        &self,
        limit: Option<Duration>,
        work: impl Future<Output = T>,
    ) -> Result<T, TransportError> {
        let Some(limit) = limit else {
            return Ok(work.await);
        };
        match select(pin!(work), self.clock.sleep(limit)).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(TransportError::timed_out()),
        }
    }

    fn record_clock_skew(&self, headers: &HeaderMap) {
        let date = headers
            .get(header::DATE)
            .and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
        let since = date.and_then(|date| date.duration_since(std::time::UNIX_EPOCH).ok());
        if let Some(since) = since.and_then(|since| i64::try_from(since.as_millis()).ok()) {
            let skew = since.saturating_sub(self.clock.now_ms());
            self.skew_ms.store(skew, Ordering::Relaxed);
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Http").finish_non_exhaustive()
    }
}

impl Outgoing {
    pub(crate) fn new(method: Method, url: String) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            timeout: None,
            max_response_bytes: MAX_RESPONSE_BYTES,
        }
    }

    /// Sets a header unless the caller did.
    pub(crate) fn default_header(&mut self, name: HeaderName, value: &str) {
        if !self.headers.contains_key(&name)
            && let Ok(value) = HeaderValue::from_str(value)
        {
            self.headers.insert(name, value);
        }
    }

    /// The same for the project's key, marked as sensitive: it may be a secret one.
    pub(crate) fn default_key(&mut self, key: &str) {
        let name = HeaderName::from_static("apikey");
        if !self.headers.contains_key(&name)
            && let Ok(mut key) = HeaderValue::from_str(key)
        {
            key.set_sensitive(true);
            self.headers.insert(name, key);
        }
    }
}

impl HttpResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text; bytes that are no UTF-8 are replaced.
    pub(crate) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The seconds of `Retry-After`, capped at a day.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header("retry-after")?.trim();
        let is_number = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = is_number.then(|| seconds.parse().unwrap_or(u64::MAX))?;
        Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
    }
}

/// The `x-client-info` header (R4).
pub(crate) fn client_info() -> String {
    let platform = std::env::consts::OS;
    let version = env!("CARGO_PKG_VERSION");
    format!("plinth-client/{version}; runtime=rust; platform={platform}")
}

fn too_large(max_bytes: usize) -> TransportError {
    TransportError::new(format!("the response is larger than {max_bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_names_seconds_and_a_day_at_most() {
        let check = |value: &'static str, expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", HeaderValue::from_static(value));
            let response = HttpResponse {
                status: 503,
                headers,
                body: Bytes::new(),
            };
            let expected = expected.map(Duration::from_secs);
            assert_eq!(response.retry_after(), expected, "{value}");
        };

        check("7", Some(7));
        check(" 120 ", Some(120));
        check("18446744073709551615", Some(86_400));
        check("99999999999999999999999", Some(86_400));
        for other in ["", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            check(other, None);
        }
    }
}
