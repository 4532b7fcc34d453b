//! `/platform/projects/{ref}/storage/check`: compares object rows with stored blobs.

use std::convert::Infallible;

use axum::{
    body::{Body as HttpBody, Bytes},
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use plinth_project::FileCheck;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Operator,
    body::{Body, Segments},
};
use crate::{Platform, PlatformError};

#[derive(Deserialize)]
pub(super) struct CheckBody {
    #[serde(default)]
    repair: bool,
    #[serde(default)]
    verify_digests: bool,
}

/// `POST …/storage/check`: a stream of JSON lines, one per finding, and a summary at the end. A
/// response without a summary is incomplete.
pub(super) async fn check(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CheckBody>,
) -> Result<Response, PlatformError> {
    let project = platform
        .open(&operator.project_by_name(&platform, &text)?)
        .await?;
    let options = FileCheck {
        repairs: body.repair,
        verifies_digests: body.verify_digests,
    };
    if options.repairs {
        let target = project.reference();
        platform
            .audit(&operator, Some(target), "storage.repair", Value::Null)
            .await;
    }
    let Some(files) = platform.file_store() else {
        return Err(PlatformError::NotAvailable("a check of files".to_owned()));
    };
    let lines = files.check(&project, options);
    let shutdown = platform.0.shutdown.clone();
    let lines = stream::unfold((lines, shutdown), async |(mut lines, shutdown)| {
        let line = shutdown.run_until_cancelled(lines.recv()).await??;
        let line = Bytes::from(format!("{line}\n"));
        Some((Ok::<_, Infallible>(line), (lines, shutdown)))
    });
    // Without its summary, the response is incomplete.
    let lines = lines.take_until(Box::pin(operator.until_token_ends(platform.clone())));
    let kind = [(CONTENT_TYPE, "application/x-ndjson")];
    Ok((kind, HttpBody::from_stream(lines)).into_response())
}
