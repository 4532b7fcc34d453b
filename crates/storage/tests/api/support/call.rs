//! Requests to the service.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use plinth_testkit::Call;

use super::Form;

pub(crate) trait StorageCall {
    fn upsert(self) -> Self;
    /// A body in chunks, of undeclared length.
    fn stream(self, content_type: &str, chunks: &[&str]) -> Self;
    /// A body that fails after its first chunk.
    fn broken(self, content_type: &str, chunk: &str) -> Self;
    fn form(self, form: &Form) -> Self;
}

impl StorageCall for Call {
    fn upsert(self) -> Self {
        self.header("x-upsert", "true")
    }

    fn stream(self, content_type: &str, chunks: &[&str]) -> Self {
        let chunks = chunks.iter().map(|chunk| Ok((*chunk).to_owned().into()));
        chunked(self, content_type, chunks.collect())
    }

    fn broken(self, content_type: &str, chunk: &str) -> Self {
        let error = io::Error::other("the client disconnected");
        let chunks = vec![Ok(chunk.to_owned().into()), Err(error)];
        chunked(self, content_type, chunks)
    }

    fn form(self, form: &Form) -> Self {
        let (content_type, body) = form.encode();
        self.body(&content_type, body)
    }
}

fn chunked(call: Call, content_type: &str, chunks: Vec<io::Result<Bytes>>) -> Call {
    let body = Body::from_stream(stream::iter(chunks));
    call.with(|request| *request.body_mut() = body)
        .header("content-type", content_type)
}
