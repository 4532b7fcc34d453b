//! The body of an upload: the file itself, or a form with the file in it (storage contract §3.1).

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{
    HeaderMap,
    header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE},
};
use http_body::Body as _;
use http_body_util::BodyExt;
use serde_json::Value;

use super::serve::value as header_value;
use crate::{
    blobs::Source,
    error::{Code, StorageError},
    request::{Form, Part, aborted, broken},
};

const MAX_FIELDS: usize = 10;
const MAX_FIELD_BYTES: usize = 1024 * 1024;
pub(crate) const DEFAULT_TYPE: &str = "application/octet-stream";
pub(crate) const DEFAULT_CACHE_CONTROL: &str = "no-cache";

/// What the client says about the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct About {
    content_type: Option<String>,
    cache_control: Option<String>,
    pub(crate) user_metadata: Option<Value>,
    /// Of the whole request, as it says itself.
    pub(crate) content_length: Option<u64>,
}

impl About {
    pub(crate) fn content_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or(DEFAULT_TYPE)
    }

    pub(crate) fn cache_control(&self) -> &str {
        self.cache_control
            .as_deref()
            .unwrap_or(DEFAULT_CACHE_CONTROL)
    }

    /// What the headers of a request say.
    pub(crate) fn of_headers(headers: &HeaderMap) -> Self {
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

/// Base64 of a JSON object; anything else counts as not given.
pub(crate) fn decode_metadata(header: &str) -> Option<Value> {
    let json = STANDARD.decode(header.trim()).ok()?;
    read_metadata(&json)
}

fn read_metadata(json: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(json).ok()?;
    value.is_object().then_some(value)
}

/// A body that has been read up to the file's first byte.
pub(crate) struct UploadBody {
    about: About,
    content: Content,
}

enum Content {
    Raw(Whole),
    InForm(Box<Parts>),
}

/// A body that is the file.
struct Whole {
    body: Body,
    taken: u64,
    /// How many bytes the client says there are.
    promised: Option<u64>,
}

impl Whole {
    async fn next(&mut self) -> Result<Option<Bytes>, StorageError> {
        // The end is known with the last byte, and not only when the client has waited for it.
        let bytes = match self.body.is_end_stream() {
            true => None,
            false => next_of_body(&mut self.body).await?,
        };
        self.taken += bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let is_right = |promised: u64| match bytes {
            Some(_) => self.taken <= promised,
            None => self.taken == promised,
        };
        match self.promised.is_none_or(is_right) {
            true => Ok(bytes),
            false => Err(aborted("it has not the length that was announced")),
        }
    }
}

struct Parts {
    rest: Form,
    file: Part,
    /// How many fields were read before it.
    fields: usize,
}

impl UploadBody {
    /// Reads what stands before the file.
    pub(crate) async fn open(headers: &HeaderMap, body: Body) -> Result<Self, StorageError> {
        let mut about = About::of_headers(headers);
        let form_type = about.content_type.take_if(|kind| is_form(kind));
        let Some(form_type) = form_type else {
            let content = Content::Raw(Whole {
                body,
                taken: 0,
                promised: about.content_length,
            });
            return Ok(Self { about, content });
        };
        about = About {
            content_length: about.content_length,
            ..About::default()
        };
        let mut form = Form::open(&form_type, body)?;
        let mut fields = 0;
        while let Some(part) = form.next().await? {
            if is_file(&part) {
                about.content_type = about.content_type.or(part.content_type());
                let content = Content::InForm(Box::new(Parts {
                    rest: form,
                    file: part,
                    fields,
                }));
                return Ok(Self { about, content });
            }
            about.read_field(part, &mut fields).await?;
        }
        Err(StorageError::invalid_request("No content provided"))
    }

    /// Whether the body is the file and nothing else.
    pub(crate) fn is_raw(&self) -> bool {
        matches!(self.content, Content::Raw(_))
    }

    /// What is known so far.
    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    /// Reads what stands behind the file; clients append fields there, too.
    pub(crate) async fn close(self) -> Result<About, StorageError> {
        let mut about = self.about;
        if let Content::InForm(parts) = self.content {
            let Parts {
                mut rest,
                file,
                mut fields,
            } = *parts;
            drop(file);
            while let Some(part) = rest.next().await? {
                if !is_file(&part) {
                    about.read_field(part, &mut fields).await?;
                }
            }
        }
        Ok(about)
    }
}

impl Source for UploadBody {
    /// A form is longer than the file in it, but not by much.
    fn at_most(&self) -> Option<u64> {
        self.about.content_length
    }

    async fn next(&mut self) -> Result<Option<Bytes>, StorageError> {
        match &mut self.content {
            Content::Raw(whole) => whole.next().await,
            Content::InForm(parts) => parts.file.chunk().await,
        }
    }
}

/// The next bytes of a body; trailers are none.
pub(crate) async fn next_of_body(body: &mut Body) -> Result<Option<Bytes>, StorageError> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame.map_err(broken)?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

impl About {
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
                return Err(error.labelled("Payload too large"));
            }
            text.extend_from_slice(&bytes);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        match name.as_str() {
            "cacheControl" => {
                let text = cache_control(&text);
                // Nobody could download what it cannot be said of.
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

/// Refuses what no header can carry.
pub(crate) fn check_content_type(text: &str) -> Result<(), StorageError> {
    match header_value(text) {
        Ok(_) => Ok(()),
        Err(_) => Err(StorageError::invalid_mime_type(
            "Invalid Content-Type header",
        )),
    }
}

/// Seconds, as forms give them.
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
