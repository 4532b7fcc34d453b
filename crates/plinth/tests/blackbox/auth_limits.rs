//! Rate limits of the auth service under `plinth start`.

use serde_json::json;

use crate::support::{Folder, Http, Instance};

/// How many of 40 requests from this machine are accepted.
fn accepted(server: &Instance<'_>) -> usize {
    let http: Http = server
        .http()
        .header("apikey", server.value("PUBLISHABLE_KEY"))
        .header("content-type", "application/json");
    let ask = |number: usize| {
        let body = json!({ "email": format!("nobody{number}@mail.test") });
        http.post("/auth/v1/recover", &body.to_string()).status
    };
    (0..40).filter(|number| ask(*number) == 200).count()
}

#[test]
fn a_development_server_on_loopback_has_no_rate_limits_by_default() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    assert_eq!(accepted(&server), 40);
    server.stop();

    let limit = "auth.rate_limit.sign_in_sign_ups=20";
    let server = Instance::start(&folder, &["--set", limit]);
    // A burst of 30, and one more every 15 seconds that the requests take.
    let accepted = accepted(&server);
    assert!((30..40).contains(&accepted), "{accepted}");
}
