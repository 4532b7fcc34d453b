//! Calls to other services: providers, hooks, SMS, captchas.

use std::time::Duration;

/// Longest time for any call, whatever its own limit says.
const AT_MOST: Duration = Duration::from_secs(30);

/// One client for all calls. It follows no redirects, because none of the services has a reason to
/// send us elsewhere and an attacker may have one.
pub(crate) fn client() -> reqwest::Client {
    builder()
        .build()
        .expect("the options are fixed, and the system's certificates are read when first needed")
}

/// What every client of ours has in common.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(AT_MOST)
        .connect_timeout(Duration::from_secs(5))
        .user_agent(concat!("plinth/", env!("CARGO_PKG_VERSION")))
}

/// What went wrong with a call, with every cause behind it; the address is left out, as it may
/// hold a secret.
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

/// Why an answer could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    #[error("{0}")]
    Broken(String),
}

/// The body of an answer that may have at most `max` bytes.
pub(crate) async fn read(
    mut response: reqwest::Response,
    max: usize,
) -> Result<Vec<u8>, Unreadable> {
    let broken = |error: reqwest::Error| Unreadable::Broken(describe(&error));
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > max {
            return Err(Unreadable::TooLong(max));
        }
    }
    Ok(bytes)
}
