//! The headers of the protocol, read and checked.

use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use time::OffsetDateTime;

use super::{
    VERSION,
    refusal::{bad_header, invalid},
};
use crate::{
    error::StorageError,
    request::{Context, essence},
};

const CHUNK_TYPE: &str = "application/offset+octet-stream";

/// Refuses a request of another version of the protocol.
pub(super) fn check_version(context: &Context) -> Result<(), StorageError> {
    match context.headers().get("tus-resumable") {
        None => Err(bad_header(
            StatusCode::PRECONDITION_FAILED,
            "Tus-Resumable Required",
        )),
        Some(version) if version == VERSION => Ok(()),
        Some(_) => Err(invalid("tus-resumable")),
    }
}

/// What a new upload says about its length.
pub(super) enum Length {
    Known(u64),
    /// It will be said later.
    Deferred,
}

impl Length {
    pub(super) fn read(context: &Context) -> Result<Self, StorageError> {
        let length = number(context, "upload-length")?;
        let is_deferred = match context.headers().get("upload-defer-length") {
            None => false,
            Some(value) if value == "1" => true,
            Some(_) => return Err(invalid("upload-defer-length")),
        };
        match (length, is_deferred) {
            (Some(length), false) => Ok(Self::Known(length)),
            (None, true) => Ok(Self::Deferred),
            _ => Err(bad_header(
                StatusCode::BAD_REQUEST,
                "Upload-Length or Upload-Defer-Length header required",
            )),
        }
    }
}

/// Refuses what asks for several uploads to become one.
pub(super) fn refuse_concatenation(context: &Context) -> Result<(), StorageError> {
    match context.headers().contains_key("upload-concat") {
        true => Err(bad_header(
            StatusCode::NOT_IMPLEMENTED,
            "Upload-Concat is not supported: send the file as one upload",
        )),
        false => Ok(()),
    }
}

/// Whether the body is a piece of the file.
pub(super) fn has_chunk(context: &Context) -> bool {
    let is_chunk = |kind| essence(kind).eq_ignore_ascii_case(CHUNK_TYPE);
    context.header(CONTENT_TYPE.as_str()).is_some_and(is_chunk)
}

/// Refuses a body that is said to be something else.
pub(super) fn require_chunk(context: &Context) -> Result<(), StorageError> {
    match context.headers().contains_key(CONTENT_TYPE) {
        _ if has_chunk(context) => Ok(()),
        true => Err(invalid("content-type")),
        false => Err(bad_header(
            StatusCode::FORBIDDEN,
            "Content-Type header required",
        )),
    }
}

/// Where the body belongs.
pub(super) fn offset(context: &Context) -> Result<u64, StorageError> {
    number(context, "upload-offset")?
        .ok_or_else(|| bad_header(StatusCode::FORBIDDEN, "Upload-Offset header required"))
}

/// The length of the whole file, where it is said later.
pub(super) fn late_length(context: &Context) -> Result<Option<u64>, StorageError> {
    number(context, "upload-length")
}

/// The length of the body, where it is known before it comes.
pub(super) fn body_length(context: &Context) -> Option<u64> {
    context.header(CONTENT_LENGTH.as_str())?.parse().ok()
}

/// Digits and nothing else, up to what Postgres and JSON can both carry.
fn number(context: &Context, name: &str) -> Result<Option<u64>, StorageError> {
    let Some(value) = context.headers().get(name) else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(parse_number);
    number.map(Some).ok_or_else(|| invalid(name))
}

fn parse_number(text: &str) -> Option<u64> {
    const LARGEST: u64 = (1 << 53) - 1;
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_digits.then(|| text.parse().ok())?;
    number.filter(|number| *number <= LARGEST)
}

/// A time as `Upload-Expires` has it.
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
