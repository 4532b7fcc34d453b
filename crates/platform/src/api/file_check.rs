//! `/platform/projects/{ref}/storage/check`: compares object rows with stored blobs.

use std::convert::Infallible;

use axum::{
    body::{Body as HttpBody, Bytes},
    extract::State,
};
use futures_util::stream;
use http::header::CONTENT_TYPE;
use plinth_project::FileCheck;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Operator,
    body::{Body, Segments},
    openapi::Lines,
};
use crate::{Platform, PlatformError};

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "FileCheckRequest")]
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
) -> Result<Lines<Value>, PlatformError> {
    let project = platform
        .open(&operator.project_by_name(&platform, &text)?)
        .await?;
    let options = FileCheck {
        repairs: body.repair,
        verifies_digests: body.verify_digests,
    };
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
    let kind = [(CONTENT_TYPE, "application/x-ndjson")];
    Ok(Lines::new((kind, HttpBody::from_stream(lines))))
}
