//! Assertions about responses of the service.

use plinth_testkit::Reply;

pub(crate) trait AuthReply {
    /// The redirect's `location`.
    fn location(&self) -> &str;
    /// Expects an error of the dated version with this status and code.
    fn expect_error(&self, status: u16, code: &str) -> &Self;
    /// Expects also this text.
    fn expect_error_text(&self, status: u16, code: &str, message: &str) -> &Self;
}

impl AuthReply for Reply {
    #[track_caller]
    fn location(&self) -> &str {
        let location = self.header("location");
        location.unwrap_or_else(|| panic!("no redirect: {self:?}"))
    }

    #[track_caller]
    fn expect_error(&self, status: u16, code: &str) -> &Self {
        self.expect_status(status);
        assert_eq!(self.json()["code"], code, "{self:?}");
        self.expect_header("x-sb-error-code", code)
    }

    #[track_caller]
    fn expect_error_text(&self, status: u16, code: &str, message: &str) -> &Self {
        self.expect_error(status, code);
        assert_eq!(self.json()["message"], message, "{self:?}");
        self
    }
}
