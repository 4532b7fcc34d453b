//! Requests without a socket.

use http::Method;
use plinth_testkit::{Call, Reply};

use super::TestRealtime;

impl TestRealtime {
    /// `POST` with these headers.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Reply {
        let call = Call::new(self.router.clone(), Method::POST, path);
        call.headers(headers).bytes(body).await
    }

    /// `GET` without anything else.
    pub(crate) async fn get(&self, path: &str) -> Reply {
        Call::new(self.router.clone(), Method::GET, path).await
    }
}
