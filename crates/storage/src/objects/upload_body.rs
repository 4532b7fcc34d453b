//! The body of an upload: the file itself, or a form with the file in it (storage contract §3.1).

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{
    HeaderMap,
    header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE},
};
use http_body::Body as _;
use serde_json::Value;

use super::serve::header_value;
use crate::{
    blobs::ByteSource,
    error::{Code, StorageError},
    request::{Form, Part, body_aborted, next_chunk},
};

const MAX_FIELDS: usize = 10;
const MAX_FIELD_BYTES: usize = 1024 * 1024;
pub(crate) const DEFAULT_TYPE: &str = "application/octet-stream";
pub(crate) const DEFAULT_CACHE_CONTROL: &str = "no-cache";

/// What a client declares info a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UploadInfo {
    content_type: Option<String>,
    cache_control: Option<String>,
    pub(crate) user_metadata: Option<Value>,
    /// Of the whole request, as declared.
    pub(crate) content_length: Option<u64>,
}

impl UploadInfo {
    pub(crate) fn content_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or(DEFAULT_TYPE)
    }

    pub(crate) fn cache_control(&self) -> &str {
        self.cache_control
            .as_deref()
            .unwrap_or(DEFAULT_CACHE_CONTROL)
    }

    /// From the headers of a request.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let owned = |name: http::HeaderName| {
            let text = text(name.as_str()).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        Self {
            content_type: owned(CONTENT_TYPE),
            cache_control: owned(CACHE_CONTROL),
            user_metadata: text("x-metadata").and_then(decode_metadata),
            content_length: text(CONTENT_LENGTH.as_str()).and_then(|text| text.parse().ok()),
        }
    }
}

/// Base64 of a JSON object; anything else is ignored.
pub(crate) fn decode_metadata(header: &str) -> Option<Value> {
    let json = STANDARD.decode(header.trim()).ok()?;
    read_metadata(&json)
}

fn read_metadata(json: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(json).ok()?;
    value.is_object().then_some(value)
}

/// A body that was read up to the first byte of the file.
pub(crate) struct UploadBody {
    info: UploadInfo,
    content: Content,
}

enum Content {
    Raw(RawBody),
    Form(Box<FormFile>),
}

/// A body that is the file.
struct RawBody {
    body: Body,
    received: u64,
    declared_length: Option<u64>,
}

impl RawBody {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
        // The end is known with the last byte: the body need not be polled once more.
        let bytes = if self.body.is_end_stream() {
            None
        } else {
            next_chunk(&mut self.body).await?
        };
        self.received += bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let is_as_declared = |length: u64| match bytes {
            Some(_) => self.received <= length,
            None => self.received == length,
        };
        if self.declared_length.is_none_or(is_as_declared) {
            Ok(bytes)
        } else {
            Err(body_aborted(
                "its length is not that of the Content-Length header",
            ))
        }
    }
}

/// The file in a form.
struct FormFile {
    form: Form,
    file: Part,
    /// How many fields were read before it.
    fields: usize,
}

impl UploadBody {
    /// Reads everything before the file.
    pub(crate) async fn open(headers: &HeaderMap, body: Body) -> Result<Self, StorageError> {
        let mut info = UploadInfo::from_headers(headers);
        let form_type = info.content_type.take_if(|kind| is_form(kind));
        let Some(form_type) = form_type else {
            let content = Content::Raw(RawBody {
                body,
                received: 0,
                declared_length: info.content_length,
            });
            return Ok(Self { info, content });
        };
        info = UploadInfo {
            content_length: info.content_length,
            ..UploadInfo::default()
        };
        let mut form = Form::open(&form_type, body)?;
        let mut fields = 0;
        while let Some(part) = form.next().await? {
            if is_file(&part) {
                info.content_type = info.content_type.or(part.content_type());
                let content = Content::Form(Box::new(FormFile {
                    form,
                    file: part,
                    fields,
                }));
                return Ok(Self { info, content });
            }
            info.read_field(part, &mut fields).await?;
        }
        Err(StorageError::invalid_request("No content provided"))
    }

    /// Whether the body is the file itself.
    pub(crate) fn is_raw(&self) -> bool {
        matches!(self.content, Content::Raw(_))
    }

    /// What was declared so far.
    pub(crate) fn info(&self) -> &UploadInfo {
        &self.info
    }

    /// Reads the fields behind the file; some clients append them there.
    pub(crate) async fn read_trailing_fields(self) -> Result<UploadInfo, StorageError> {
        let mut info = self.info;
        if let Content::Form(form_file) = self.content {
            let FormFile {
                mut form,
                file,
                mut fields,
            } = *form_file;
            drop(file);
            while let Some(part) = form.next().await? {
                if !is_file(&part) {
                    info.read_field(part, &mut fields).await?;
                }
            }
        }
        Ok(info)
    }
}

impl ByteSource for UploadBody {
    /// A form is a little longer than the file in it.
    fn max_size(&self) -> Option<u64> {
        self.info.content_length
    }

    async fn next_chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
        match &mut self.content {
            Content::Raw(body) => body.next_chunk().await,
            Content::Form(form) => form.file.chunk().await,
        }
    }
}

impl UploadInfo {
    async fn read_field(&mut self, mut part: Part, fields: &mut usize) -> Result<(), StorageError> {
        *fields += 1;
        if *fields > MAX_FIELDS {
            let message = format!("A form may have {MAX_FIELDS} fields beside its file");
            return Err(StorageError::invalid_request(message));
        }
        let name = part.name().to_owned();
        let mut text = Vec::new();
        while let Some(bytes) = part.chunk().await? {
            if text.len() + bytes.len() > MAX_FIELD_BYTES {
                let message = "The user_metadata exceeded the maximum allowed size";
                let error = StorageError::new(Code::EntityTooLarge, 413, message);
                return Err(error.with_label("Payload too large"));
            }
            text.extend_from_slice(&bytes);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        match name.as_str() {
            "cacheControl" => {
                let text = cache_control(&text);
                // It must fit into a header, or the object could not be downloaded.
                header_value(&text)?;
                self.cache_control = Some(text);
            }
            "metadata" | "userMetadata" => {
                let metadata = read_metadata(text.as_bytes());
                self.user_metadata = metadata.or(self.user_metadata.take());
            }
            "contentType" if !text.is_empty() => {
                check_content_type(&text)?;
                self.content_type = Some(text);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Rejects what does not fit into a header.
pub(crate) fn check_content_type(text: &str) -> Result<(), StorageError> {
    match header_value(text) {
        Ok(_) => Ok(()),
        Err(_) => Err(StorageError::invalid_mime_type(
            "Invalid Content-Type header",
        )),
    }
}

/// Forms carry seconds.
fn cache_control(seconds: &str) -> String {
    format!("max-age={}", seconds.trim())
}

fn is_file(part: &Part) -> bool {
    let is_bytes = |kind: String| kind == DEFAULT_TYPE;
    part.file_name().is_some() || part.content_type().is_some_and(is_bytes)
}

/// Whether a body is a form, and not the file itself.
fn is_form(content_type: &str) -> bool {
    let start = content_type.get(..19);
    start.is_some_and(|start| start.eq_ignore_ascii_case("multipart/form-data"))
}
