//! `/platform/projects/{ref}/storage/check`: do rows and bytes of a project's files agree?

use std::convert::Infallible;

use axum::{
    body::{Body as HttpBody, Bytes},
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use http::header::CONTENT_TYPE;
use plinth_project::FileCheck;
use serde::Deserialize;

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

/// `POST …/storage/check`: a line of JSON for each finding as it comes, and a summary as the last.
/// An answer without one was cut off.
pub(super) async fn check(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CheckBody>,
) -> Result<Response, PlatformError> {
    let project = platform.open(&operator.named(&platform, &text)?).await?;
    let how = FileCheck {
        repairs: body.repair,
        verifies_digests: body.verify_digests,
    };
    let Some(files) = platform.file_keeper() else {
        return Err(PlatformError::NotAvailable("a check of files".to_owned()));
    };
    let lines = files.check(&project, how);
    let stopping = platform.0.stopping.clone();
    let lines = stream::unfold((lines, stopping), async |(mut lines, stopping)| {
        let line = stopping.run_until_cancelled(lines.recv()).await??;
        let line = Bytes::from(format!("{line}\n"));
        Some((Ok::<_, Infallible>(line), (lines, stopping)))
    });
    let kind = [(CONTENT_TYPE, "application/x-ndjson")];
    Ok((kind, HttpBody::from_stream(lines)).into_response())
}
