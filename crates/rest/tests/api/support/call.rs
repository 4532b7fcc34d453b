//! Requests to the service.

use plinth_testkit::Call;

/// Headers of PostgREST's protocol.
pub(crate) trait RestCall {
    /// Adds a preference to those that the request has.
    fn prefer(self, value: &str) -> Self;
    fn accept(self, value: &str) -> Self;
}

impl RestCall for Call {
    fn prefer(self, value: &str) -> Self {
        self.add_header("prefer", value)
    }

    fn accept(self, value: &str) -> Self {
        self.add_header("accept", value)
    }
}
