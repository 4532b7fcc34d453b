//! The headers of the protocol, read and checked.

use http::{
    HeaderValue,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use time::OffsetDateTime;

use super::error::{UploadError, invalid_header};
use crate::{
    error::StorageError,
    request::{RequestContext, essence},
};

/// The version of the protocol.
pub(super) const VERSION: &str = "1.0.0";
const CHUNK_TYPE: &str = "application/offset+octet-stream";

/// Rejects a request of another version of the protocol.
pub(super) fn check_version(context: &RequestContext) -> Result<(), StorageError> {
    match context.headers().get("tus-resumable") {
        None => Err(UploadError::VersionRequired.into()),
        Some(version) if version == VERSION => Ok(()),
        Some(_) => Err(invalid_header("tus-resumable")),
    }
}

/// The declared length of a new upload.
pub(super) enum Length {
    Known(u64),
    /// It will be declared later.
    Deferred,
}

impl Length {
    pub(super) fn parse(context: &RequestContext) -> Result<Self, StorageError> {
        let length = number(context, "upload-length")?;
        let is_deferred = match context.headers().get("upload-defer-length") {
            None => false,
            Some(value) if value == "1" => true,
            Some(_) => return Err(invalid_header("upload-defer-length")),
        };
        match (length, is_deferred) {
            (Some(length), false) => Ok(Self::Known(length)),
            (None, true) => Ok(Self::Deferred),
            _ => Err(UploadError::LengthRequired.into()),
        }
    }
}

/// Rejects the extension that concatenates uploads, which is not supported.
pub(super) fn reject_concatenation(context: &RequestContext) -> Result<(), StorageError> {
    if context.headers().contains_key("upload-concat") {
        Err(UploadError::ConcatenationUnsupported.into())
    } else {
        Ok(())
    }
}

/// Whether the body is a chunk of the file.
pub(super) fn has_chunk(context: &RequestContext) -> bool {
    let is_chunk = |kind| essence(kind).eq_ignore_ascii_case(CHUNK_TYPE);
    context.header(CONTENT_TYPE.as_str()).is_some_and(is_chunk)
}

/// Rejects a body that is not a chunk of the file.
pub(super) fn require_chunk(context: &RequestContext) -> Result<(), StorageError> {
    if has_chunk(context) {
        Ok(())
    } else if context.headers().contains_key(CONTENT_TYPE) {
        Err(invalid_header("content-type"))
    } else {
        Err(UploadError::ContentTypeRequired.into())
    }
}

/// The offset of the body in the file.
pub(super) fn offset(context: &RequestContext) -> Result<u64, StorageError> {
    number(context, "upload-offset")?.ok_or_else(|| UploadError::OffsetRequired.into())
}

/// The length of the file, where it is declared late.
pub(super) fn late_length(context: &RequestContext) -> Result<Option<u64>, StorageError> {
    number(context, "upload-length")
}

/// The length of the body, if declared.
pub(super) fn body_length(context: &RequestContext) -> Option<u64> {
    context.header(CONTENT_LENGTH.as_str())?.parse().ok()
}

/// Digits only, up to what PostgreSQL and JSON can both represent.
fn number(context: &RequestContext, name: &str) -> Result<Option<u64>, StorageError> {
    let Some(value) = context.headers().get(name) else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(parse_number);
    number.map(Some).ok_or_else(|| invalid_header(name))
}

fn parse_number(text: &str) -> Option<u64> {
    const MAX: u64 = (1 << 53) - 1;
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_digits.then(|| text.parse().ok())?;
    number.filter(|number| *number <= MAX)
}

/// The value of `Upload-Expires`.
pub(super) fn http_date(time: OffsetDateTime) -> HeaderValue {
    let date = httpdate::fmt_http_date(time.into());
    HeaderValue::try_from(date).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits() {
        let check = |text, number| assert_eq!(parse_number(text), number, "{text}");
        check("0", Some(0));
        check("007", Some(7));
        check("9007199254740991", Some(9_007_199_254_740_991));
        check("9007199254740992", None);
        check("99999999999999999999999", None);
        for bad in ["", "+1", "-1", "1.0", "1e3", " 1", "0x10", "one"] {
            check(bad, None);
        }
    }
}
