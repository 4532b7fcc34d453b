//! The multipart form of a deployment. The official CLI sends files first and `metadata` last as
//! text, the MCP server `metadata` first as a file: any order and both forms are accepted.

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::header::CONTENT_TYPE,
};
use bytes::{Bytes, BytesMut};
use multer::{Constraints, Field, Multipart, SizeLimit};
use plinth_project::FunctionSource;
use serde::Deserialize;

use crate::{
    Bundle, MAX_BUNDLE_BYTES, PlatformError, SourceFile, functions::bundle_too_large as too_large,
};

/// Limit on headers and boundaries of the form together.
const MAX_FRAMING_BYTES: u64 = 4 * 1024 * 1024;
const MAX_METADATA_BYTES: usize = 1024 * 1024;

/// A parsed deployment.
pub(super) struct DeployForm {
    pub(super) metadata: Metadata,
    files: Vec<SourceFile>,
}

#[derive(Deserialize, Default)]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) verify_jwt: Option<bool>,
    entrypoint_path: String,
    #[serde(default)]
    import_map_path: Option<String>,
    #[serde(default)]
    static_patterns: Option<Vec<String>>,
}

impl DeployForm {
    /// The validated sources.
    pub(super) fn into_bundle(self) -> Result<Bundle, PlatformError> {
        let source = FunctionSource {
            entrypoint: self.metadata.entrypoint_path,
            // The CLI sends "" if there is none.
            import_map: self
                .metadata
                .import_map_path
                .filter(|path| !path.is_empty()),
            static_patterns: self.metadata.static_patterns.unwrap_or_default(),
        };
        Bundle::new(source, self.files)
    }
}

impl<S: Send + Sync> FromRequest<S> for DeployForm {
    type Rejection = PlatformError;

    async fn from_request(request: Request, _: &S) -> Result<Self, PlatformError> {
        let (parts, body) = request.into_parts();
        let content_type = parts.headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let boundary = multer::parse_boundary(content_type.unwrap_or_default());
        let boundary = boundary.map_err(unreadable)?;
        read(body, boundary).await
    }
}

async fn read(body: Body, boundary: String) -> Result<DeployForm, PlatformError> {
    let whole = MAX_BUNDLE_BYTES as u64 + MAX_FRAMING_BYTES;
    let constraints = Constraints::new().size_limit(SizeLimit::new().whole_stream(whole));
    let mut form = Multipart::with_constraints(body.into_data_stream(), boundary, constraints);
    let (mut metadata, mut files, mut left) = (None, Vec::new(), MAX_BUNDLE_BYTES);
    while let Some(field) = form.next_field().await.map_err(unreadable)? {
        match field.name() {
            Some("metadata") => {
                if metadata.is_some() {
                    return Err(invalid("metadata is given twice"));
                }
                let text = read_field(field, MAX_METADATA_BYTES).await?;
                let parsed = serde_json::from_slice::<Metadata>(&text);
                metadata = Some(parsed.map_err(|error| invalid(&format!("metadata: {error}")))?);
            }
            Some("file") => {
                let path = field.file_name().map(decoded);
                let path = path.ok_or_else(|| invalid("a file has no name"))?;
                let content = read_field(field, left).await?;
                left -= content.len();
                files.push(SourceFile { path, content });
            }
            _ => {}
        }
    }
    Ok(DeployForm {
        metadata: metadata.ok_or_else(|| invalid("metadata is missing"))?,
        files,
    })
}

/// Browsers and Node encode quotes in file names like this; multer handles backslashes.
fn decoded(file_name: &str) -> String {
    file_name.replace("%22", "\"")
}

async fn read_field(mut field: Field<'_>, max_bytes: usize) -> Result<Bytes, PlatformError> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = field.chunk().await.map_err(unreadable)? {
        if bytes.len() + chunk.len() > max_bytes {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

fn invalid(what: &str) -> PlatformError {
    PlatformError::Invalid(format!("The form cannot be used: {what}"))
}

fn unreadable(error: multer::Error) -> PlatformError {
    match error {
        multer::Error::StreamSizeExceeded { .. } => too_large(),
        error => invalid(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    const BOUNDARY: &str = "frontier";

    fn part(disposition: &str, content: &str) -> String {
        format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n"
        )
    }

    async fn parse(parts: &[String]) -> Result<DeployForm, PlatformError> {
        let body = format!("{}--{BOUNDARY}--\r\n", parts.concat());
        read(Body::from(body), BOUNDARY.to_owned()).await
    }

    fn file(path: &str) -> String {
        part(&format!("name=\"file\"; filename=\"{path}\""), "1")
    }

    fn metadata(text: &str) -> String {
        part("name=\"metadata\"", text)
    }

    async fn rejection(parts: &[String]) -> (StatusCode, String) {
        let read = parse(parts).await.and_then(DeployForm::into_bundle);
        let error = read.expect_err("rejected");
        (error.status_and_code().0, error.to_string())
    }

    #[tokio::test]
    async fn both_forms_and_any_order_are_taken() {
        let path = "supabase/functions/a/index.ts";
        let text = format!("{{\"entrypoint_path\":\"{path}\",\"import_map_path\":\"\"}}");
        let blob = part("name=\"metadata\"; filename=\"blob\"", &text);
        let forms = [
            [
                file(path),
                file("supabase/functions/_shared/b.ts"),
                metadata(&text),
            ],
            [blob, file("supabase/functions/_shared/b.ts"), file(path)],
        ];
        for form in forms {
            let form = parse(&form).await.expect("a form");
            let paths: Vec<&str> = form.files.iter().map(|file| file.path.as_str()).collect();
            assert!(paths.contains(&path), "folders are kept: {paths:?}");
            form.into_bundle().expect("a bundle");
        }
    }

    #[tokio::test]
    async fn invalid_forms_are_rejected() {
        let index = metadata("{\"entrypoint_path\":\"index.ts\"}");
        let bad = [
            vec![],
            vec![file("index.ts")],
            vec![index.clone(), index.clone(), file("index.ts")],
            vec![metadata("{}"), file("index.ts")],
            vec![metadata("[]"), file("index.ts")],
            vec![metadata("nonsense"), file("index.ts")],
            vec![index.clone()],
            vec![index.clone(), part("name=\"file\"", "1")],
            vec![index.clone(), file("index.ts"), file("../escaped.ts")],
            vec![index.clone(), file("index.ts"), file("/etc/passwd")],
            vec![index.clone(), file("index.ts"), file("a\\\\b.ts")],
            vec![index.clone(), file("index.ts"), file("index.ts/a.ts")],
            vec![index.clone(), file("index.ts"), file("index.ts")],
            vec![
                metadata("{\"entrypoint_path\":\"../index.ts\"}"),
                file("index.ts"),
            ],
            vec![metadata("{\"entrypoint_path\":1}"), file("index.ts")],
        ];
        for form in bad {
            let (status, message) = rejection(&form).await;
            assert_eq!(status, 400, "{message}: {form:?}");
        }
        let truncated = read(Body::from(index), BOUNDARY.to_owned()).await;
        let error = truncated.err().expect("rejected");
        assert_eq!(error.status_and_code().0, 400);
    }

    #[tokio::test]
    async fn forms_beyond_the_limit_are_not_read_to_their_end() {
        let index = metadata("{\"entrypoint_path\":\"index.ts\"}");
        let half = " ".repeat(MAX_BUNDLE_BYTES / 2 + 1);
        let large = |path: &str| part(&format!("name=\"file\"; filename=\"{path}\""), &half);
        let (status, _) = rejection(&[index.clone(), large("index.ts"), large("b.ts")]).await;
        assert_eq!(status, 413);

        let ignored = part("name=\"other\"", &" ".repeat(MAX_BUNDLE_BYTES * 2));
        let (status, _) = rejection(&[index, ignored]).await;
        assert_eq!(status, 413);
    }
}
