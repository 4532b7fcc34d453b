//! Calls to other services: providers, hooks, SMS, captchas.

use std::time::Duration;

/// Longest time for any call, whatever its own limit says.
const AT_MOST: Duration = Duration::from_secs(30);

/// One client for all calls. It follows no redirects, because none of the services has a reason to
/// send us elsewhere and an attacker may have one.
pub(crate) fn client() -> reqwest::Client {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(AT_MOST)
        .connect_timeout(Duration::from_secs(5))
        .user_agent(concat!("plinth/", env!("CARGO_PKG_VERSION")))
        .build()
        .expect("the options are fixed, and the system's certificates are read when first needed")
}
