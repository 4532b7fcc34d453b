//! Answers to work that may take longer than a connection stays open in silence.

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

/// How patient clients are taken to be.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Who waits for less is answered with the status that says what happened.
    soon: Duration,
    /// The longest silence afterwards.
    silence: Duration,
}

const PATIENCE: Patience = Patience {
    soon: Duration::from_secs(2),
    silence: Duration::from_secs(5),
};

/// The document that the work makes. Where that takes long the answer begins before anybody knows
/// how it ends: 200, the declaration, a blank now and then, and then the document or, as S3 does it,
/// that of an error. Clients know that of this operation.
pub(super) async fn document_in_time(
    work: impl Future<Output = Result<Xml, StorageError>> + Send + 'static,
    resource: String,
) -> Result<Response, StorageError> {
    answer(PATIENCE, Box::pin(work), resource).await
}

type Work = Pin<Box<dyn Future<Output = Result<Xml, StorageError>> + Send>>;

async fn answer(
    patience: Patience,
    mut work: Work,
    resource: String,
) -> Result<Response, StorageError> {
    match timeout(patience.soon, &mut work).await {
        Ok(done) => Ok(done?.into_response(StatusCode::OK)),
        Err(_) => {
            let later = Later {
                work: Some(work),
                resource,
                has_begun: false,
                silence: patience.silence,
            };
            let body = Body::from_stream(stream::unfold(later, Later::next));
            Ok(Xml::response(StatusCode::OK, body))
        }
    }
}

/// An answer that has begun before its end is known.
struct Later {
    /// Gone once it is done.
    work: Option<Work>,
    resource: String,
    has_begun: bool,
    silence: Duration,
}

impl Later {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.has_begun {
            self.has_begun = true;
            return Some((Ok(Bytes::from_static(DECLARATION.as_bytes())), self));
        }
        let Ok(done) = timeout(self.silence, self.work.as_mut()?).await else {
            return Some((Ok(Bytes::from_static(b" ")), self));
        };
        self.work = None;
        let xml = done.unwrap_or_else(|refusal| error::document(&refusal, &self.resource));
        Some((Ok(xml.without_declaration()), self))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio::time::{Instant, sleep};

    use super::*;

    const BRIEF: Patience = Patience {
        soon: Duration::from_millis(200),
        silence: Duration::from_millis(50),
    };

    async fn ask(takes: Duration, is_good: bool) -> Response {
        let work = async move {
            sleep(takes).await;
            match is_good {
                true => Ok(Xml::document("Result", |xml| xml.text("Key", "k"))),
                false => Err(StorageError::no_such_upload()),
            }
        };
        let answer = answer(BRIEF, Box::pin(work), "b/k".to_owned()).await;
        answer.unwrap_or_else(|refusal| error::respond(&refusal, "b/k", false))
    }

    async fn text(response: Response) -> String {
        let bytes = response.into_body().collect().await.expect("bytes");
        String::from_utf8(bytes.to_bytes().into()).expect("text")
    }

    #[tokio::test]
    async fn what_is_done_soon_has_its_true_status() {
        assert_eq!(ask(Duration::ZERO, true).await.status(), StatusCode::OK);
        let bad = ask(Duration::ZERO, false).await;
        assert_eq!(bad.status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_is_the_same_document_with_blanks_in_it() {
        for is_good in [true, false] {
            let at_once = text(ask(Duration::ZERO, is_good).await).await;
            let slow = ask(BRIEF.soon * 3, is_good).await;
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
    async fn nobody_hears_nothing_for_long() {
        let began = Instant::now();
        let mut body = ask(BRIEF.soon * 4, true).await.into_body();
        let mut frames = 0;
        while let Some(frame) = body.frame().await {
            assert!(frame.is_ok());
            frames += 1;
        }
        assert!(began.elapsed() >= BRIEF.soon * 4);
        assert!(frames >= 4, "{frames}");
    }
}
