//! Assertions about responses of the protocol.

use http::Method;
use plinth_testkit::Reply;

use super::{BASE, PUBLIC_URL};

pub(crate) trait TusReply {
    /// Status and text; every response of the protocol names its version.
    fn is(&self, status: u16, text: &str) -> &Self;
    /// An error: plain text, and the connection is closed.
    fn fails_with(&self, status: u16, text: &str) -> &Self;
    fn has(&self, headers: &[(&str, Option<&str>)]) -> &Self;
    /// The path of the upload that was created.
    fn upload(&self) -> String;
}

impl TusReply for Reply {
    #[track_caller]
    fn is(&self, status: u16, text: &str) -> &Self {
        let text = if self.method == Method::HEAD {
            ""
        } else {
            text
        };
        self.expect_text(status, text)
            .expect_header("tus-resumable", "1.0.0")
    }

    #[track_caller]
    fn fails_with(&self, status: u16, text: &str) -> &Self {
        self.expect_header("content-type", "text/plain; charset=utf-8")
            .expect_header("connection", "close")
            .is(status, text)
    }

    #[track_caller]
    fn has(&self, headers: &[(&str, Option<&str>)]) -> &Self {
        for (name, value) in headers {
            assert_eq!(self.header(name), *value, "{name} of {self:?}");
        }
        self
    }

    #[track_caller]
    fn upload(&self) -> String {
        self.is(201, "");
        let location = self.header("location").expect("a place");
        let mount = format!("{PUBLIC_URL}/storage/v1");
        let path = location.strip_prefix(&mount).expect(location);
        assert!(path.starts_with(BASE), "{path}");
        path.to_owned()
    }
}
