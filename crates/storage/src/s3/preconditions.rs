//! Conditions on an object that is read or copied (RFC 9110 §13).

use http::HeaderMap;
use time::OffsetDateTime;

use crate::{
    error::{Code, StorageError},
    objects::ObjectDetails,
};

/// The names of the conditional headers.
pub(super) struct ConditionHeaders {
    if_match: &'static str,
    if_none_match: &'static str,
    if_modified_since: &'static str,
    if_unmodified_since: &'static str,
}

/// On an object that is read.
pub(super) const READ_CONDITIONS: ConditionHeaders = ConditionHeaders {
    if_match: "if-match",
    if_none_match: "if-none-match",
    if_modified_since: "if-modified-since",
    if_unmodified_since: "if-unmodified-since",
};

/// On the source of a copy.
pub(super) const COPY_CONDITIONS: ConditionHeaders = ConditionHeaders {
    if_match: "x-amz-copy-source-if-match",
    if_none_match: "x-amz-copy-source-if-none-match",
    if_modified_since: "x-amz-copy-source-if-modified-since",
    if_unmodified_since: "x-amz-copy-source-if-unmodified-since",
};

/// The result of the conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precondition {
    Met,
    NotModified,
    Failed,
}

impl ConditionHeaders {
    pub(super) fn evaluate(&self, headers: &HeaderMap, details: ObjectDetails<'_>) -> Precondition {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let date = |name: &str| {
            let date = httpdate::parse_http_date(text(name)?).ok()?;
            Some(OffsetDateTime::from(date))
        };
        let modified = details.last_modified();
        let is_failed = match text(self.if_match) {
            Some(tags) => !matches(tags, details.etag()),
            None => date(self.if_unmodified_since)
                .zip(modified)
                .is_some_and(|(since, modified)| modified > since),
        };
        if is_failed {
            return Precondition::Failed;
        }
        let is_same = match text(self.if_none_match) {
            Some(tags) => matches(tags, details.etag()),
            None => date(self.if_modified_since)
                .zip(modified)
                .is_some_and(|(since, modified)| modified <= since),
        };
        if is_same {
            Precondition::NotModified
        } else {
            Precondition::Met
        }
    }
}

/// Clients send ETags with and without quotes.
fn matches(tags: &str, etag: Option<&str>) -> bool {
    let bare = |tag: &str| {
        tag.trim()
            .trim_start_matches("W/")
            .trim_matches('"')
            .to_owned()
    };
    let is_same = |etag: &str| tags.split(',').any(|tag| bare(tag) == bare(etag));
    tags.trim() == "*" || etag.is_some_and(is_same)
}

/// 412
pub(super) fn failed() -> StorageError {
    let message = "At least one of the preconditions you specified did not hold.";
    StorageError::new(Code::PreconditionFailed, 412, message)
}
