//! Metrics. Their names are part of the public interface (`docs/sessions.md`).

use metrics::{counter, gauge};

use crate::backend::KeyHealth;
use crate::refresh::Refreshed;

/// Requests by session state.
pub(crate) fn request(state: &'static str) {
    counter!("plinth_session_requests_total", "state" => state).increment(1);
}

/// Results of refreshes, counted once per refresh.
pub(crate) fn refreshed(refreshed: &Refreshed) {
    let outcome = match refreshed {
        Refreshed::Renewed(_) => "renewed",
        Refreshed::Rejected(_) => "rejected",
        Refreshed::Unavailable(_) => "unavailable",
    };
    counter!("plinth_session_refreshes_total", "outcome" => outcome).increment(1);
}

/// Changes rejected by the CSRF check.
pub(crate) fn csrf_rejected() {
    counter!("plinth_session_csrf_rejections_total").increment(1);
}

/// Requests with conflicting session cookies.
pub(crate) fn conflicting_cookies() {
    counter!("plinth_session_conflicting_cookies_total").increment(1);
}

/// State of the key set (A17).
pub(crate) fn keys(project: &str, health: KeyHealth) {
    if let Some(age_ms) = health.age_ms {
        gauge!("plinth_session_keys_age_seconds", "project" => project.to_owned())
            .set(age_ms as f64 / 1000.0);
    }
    counter!("plinth_session_key_fetch_failures_total", "project" => project.to_owned())
        .absolute(health.failures);
}
