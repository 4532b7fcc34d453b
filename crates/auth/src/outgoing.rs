//! HTTP calls to other services: providers, hooks, SMS, captchas.

use std::time::Duration;

/// The maximum timeout of any call.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);
/// Below the five seconds after which servers on Node.js close idle connections: a request that is sent at that
/// moment would fail, and most are no GET, which would be sent again.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// The shared client. It does not follow redirects: no service needs them, and an attacker could
/// use them.
pub(crate) fn client() -> reqwest::Client {
    builder().build().expect("the options are fixed")
}

/// The common settings of all clients.
///
/// A system without CA certificates cannot verify any server, which must fail HTTPS calls but not
/// the start.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder();
    let builder = if rustls_native_certs::load_native_certs().certs.is_empty() {
        tracing::warn!(
            "no CA certificates found: HTTPS calls to other services will fail; install ca-certificates"
        );
        builder.tls_certs_only([])
    } else {
        builder
    };
    builder
        .redirect(reqwest::redirect::Policy::none())
        .timeout(MAX_TIMEOUT)
        .connect_timeout(Duration::from_secs(5))
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .user_agent(concat!("plinth/", env!("CARGO_PKG_VERSION")))
}

/// The error with all its causes, without the URL, which may contain a secret.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let mut text = match error {
        error if error.is_timeout() => "the call took too long".to_owned(),
        error if error.is_connect() => "no connection".to_owned(),
        _ => "the call failed".to_owned(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Why a response could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("the response is longer than {0} bytes")]
    TooLong(usize),
    #[error("{0}")]
    Broken(String),
}

/// Reads a response body of at most `max` bytes.
pub(crate) async fn read_body(
    mut response: reqwest::Response,
    max: usize,
) -> Result<Vec<u8>, ReadError> {
    let broken = |error: reqwest::Error| ReadError::Broken(describe(&error));
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > max {
            return Err(ReadError::TooLong(max));
        }
    }
    Ok(bytes)
}
