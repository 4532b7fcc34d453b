//! Requests to the service.

use plinth_testkit::Call;
use serde_json::Value;

/// What requests to this service have.
pub(crate) trait AuthCall {
    fn without_key(self) -> Self;
    /// Requests errors in the format before 2024.
    fn old_version(self) -> Self;
    /// As the user of a token response.
    fn session(self, tokens: &Value) -> Self;
    /// From this client address.
    fn client_ip(self, ip: &str) -> Self;
    fn form(self, body: &str) -> Self;
}

impl AuthCall for Call {
    fn without_key(self) -> Self {
        self.without("apikey")
    }

    fn old_version(self) -> Self {
        self.without("x-supabase-api-version")
    }

    fn session(self, tokens: &Value) -> Self {
        let token = tokens["access_token"].as_str().expect("an access token");
        self.bearer(token)
    }

    fn client_ip(self, ip: &str) -> Self {
        self.header("x-test-client", ip)
    }

    fn form(self, body: &str) -> Self {
        self.body("application/x-www-form-urlencoded", body)
    }
}
