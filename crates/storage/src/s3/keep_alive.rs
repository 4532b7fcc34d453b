//! Responses to work that may take longer than the idle timeout of a connection.

use std::{convert::Infallible, pin::Pin, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use tokio::time::timeout;

use super::{
    error,
    xml::{DECLARATION, Xml},
};
use crate::error::StorageError;

/// When keep-alive bytes are sent.
#[derive(Debug, Clone, Copy)]
struct KeepAlive {
    /// Work that ends within this gets a response with its real status.
    start_after: Duration,
    /// The time between keep-alive bytes afterwards.
    interval: Duration,
}

const KEEP_ALIVE: KeepAlive = KeepAlive {
    start_after: Duration::from_secs(2),
    interval: Duration::from_secs(5),
};

/// Responds with the document that the work makes. Where that takes long the response starts before
/// its outcome is known: 200, the XML declaration, a space now and then, and at last the document
/// or that of an error. S3 does the same for this operation, and clients expect it.
pub(super) async fn respond_with_keep_alive(
    work: impl Future<Output = Result<Xml, StorageError>> + Send + 'static,
    resource: String,
) -> Result<Response, StorageError> {
    respond(KEEP_ALIVE, Box::pin(work), resource).await
}

type Work = Pin<Box<dyn Future<Output = Result<Xml, StorageError>> + Send>>;

async fn respond(
    keep_alive: KeepAlive,
    mut work: Work,
    resource: String,
) -> Result<Response, StorageError> {
    match timeout(keep_alive.start_after, &mut work).await {
        Ok(done) => Ok(done?.into_response(StatusCode::OK)),
        Err(_) => {
            let state = KeepAliveBody {
                work: Some(work),
                resource,
                has_started: false,
                interval: keep_alive.interval,
            };
            let body = Body::from_stream(stream::unfold(state, KeepAliveBody::next_chunk));
            Ok(Xml::response(StatusCode::OK, body))
        }
    }
}

/// A response that has started before its outcome is known.
struct KeepAliveBody {
    /// `None` once it is done.
    work: Option<Work>,
    resource: String,
    has_started: bool,
    interval: Duration,
}

impl KeepAliveBody {
    async fn next_chunk(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.has_started {
            self.has_started = true;
            return Some((Ok(Bytes::from_static(DECLARATION.as_bytes())), self));
        }
        let Ok(done) = timeout(self.interval, self.work.as_mut()?).await else {
            return Some((Ok(Bytes::from_static(b" ")), self));
        };
        self.work = None;
        let xml = done.unwrap_or_else(|failure| error::document(&failure, &self.resource));
        Some((Ok(xml.without_declaration()), self))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio::time::{Instant, sleep};

    use super::*;

    const SHORT: KeepAlive = KeepAlive {
        start_after: Duration::from_millis(200),
        interval: Duration::from_millis(50),
    };

    async fn request(takes: Duration, is_good: bool) -> Response {
        let work = async move {
            // Paused time, unless it is none.
            sleep(takes).await;
            if is_good {
                Ok(Xml::document("Result", |xml| xml.text("Key", "k")))
            } else {
                Err(StorageError::no_such_upload())
            }
        };
        let responded = respond(SHORT, Box::pin(work), "b/k".to_owned()).await;
        responded.unwrap_or_else(|failure| error::respond(&failure, "b/k", false))
    }

    async fn text(response: Response) -> String {
        let bytes = response.into_body().collect().await.expect("bytes");
        String::from_utf8(bytes.to_bytes().into()).expect("text")
    }

    #[tokio::test]
    async fn quick_work_gets_its_real_status() {
        assert_eq!(request(Duration::ZERO, true).await.status(), StatusCode::OK);
        let bad = request(Duration::ZERO, false).await;
        assert_eq!(bad.status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_work_gets_the_same_document_with_spaces_in_it() {
        for is_good in [true, false] {
            let at_once = text(request(Duration::ZERO, is_good).await).await;
            let slow = request(SHORT.start_after * 3, is_good).await;
            assert_eq!(slow.status(), StatusCode::OK);
            let kind = &slow.headers()["content-type"];
            assert_eq!(kind, "application/xml; charset=utf-8");
            let slow = text(slow).await;

            let (declaration, rest) = slow.split_at(DECLARATION.len());
            let root = rest.trim_start_matches(' ');
            assert!(rest.len() - root.len() >= 2, "{slow}");
            assert_eq!(format!("{declaration}{root}"), at_once);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn keep_alive_bytes_are_sent_at_the_interval() {
        let began = Instant::now();
        let mut body = request(SHORT.start_after * 4, true).await.into_body();
        let mut frames = 0;
        while let Some(frame) = body.frame().await {
            assert!(frame.is_ok());
            frames += 1;
        }
        assert!(began.elapsed() >= SHORT.start_after * 4);
        assert!(frames >= 4, "{frames}");
    }
}
