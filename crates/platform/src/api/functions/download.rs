//! `GET …/functions/{slug}/body`: the sources of the active version.

use std::fmt::Write;

use axum::{
    extract::State,
    http::{
        HeaderMap,
        header::{ACCEPT, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use serde_json::json;
use uuid::Uuid;

use super::{Operator, Segments};
use crate::{Platform, PlatformError, SourceFile, StoredFunction};

/// `GET …/functions/{slug}/body`. Bundles in the hosted runtime's format are not available.
pub(in crate::api) async fn download(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, slug)): Segments<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|types| !types.contains("multipart/") && !types.contains("*/*")) {
        return Err(PlatformError::NotAvailable(
            "function bodies in another form than multipart/form-data".to_owned(),
        ));
    }
    let (function, files) = platform.load_function_files(&project, &slug).await?;
    let boundary = format!("plinth-{}", Uuid::new_v4().simple());
    let content_type = format!("multipart/form-data; boundary={boundary}");
    let body = form(&boundary, &function, &files);
    Ok(([(CONTENT_TYPE, content_type)], body).into_response())
}

/// Paths contain no line breaks, so they are safe in headers; the CLI prefers `Supabase-Path`, which
/// needs no quotes.
fn form(boundary: &str, function: &StoredFunction, files: &[SourceFile]) -> Vec<u8> {
    let metadata = json!({ "deno2_entrypoint_path": function.source.entrypoint });
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\
         Content-Type: application/json\r\n\r\n{metadata}\r\n"
    )
    .into_bytes();
    for SourceFile { path, content } in files {
        let quoted = path.replace('"', "%22");
        let mut head = String::new();
        let _ = write!(
            head,
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{quoted}\"\
             \r\nSupabase-Path: {path}\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}
