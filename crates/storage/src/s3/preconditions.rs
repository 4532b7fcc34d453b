//! Conditions on an object that is read or copied (RFC 9110 §13).

use http::HeaderMap;
use time::OffsetDateTime;

use crate::{
    error::{Code, StorageError},
    objects::Facts,
};

/// The headers that conditions stand in.
pub(super) struct Names {
    if_match: &'static str,
    if_none_match: &'static str,
    if_modified_since: &'static str,
    if_unmodified_since: &'static str,
}

/// On an object that is read.
pub(super) const OF_READING: Names = Names {
    if_match: "if-match",
    if_none_match: "if-none-match",
    if_modified_since: "if-modified-since",
    if_unmodified_since: "if-unmodified-since",
};

/// On the source of a copy.
pub(super) const OF_COPYING: Names = Names {
    if_match: "x-amz-copy-source-if-match",
    if_none_match: "x-amz-copy-source-if-none-match",
    if_modified_since: "x-amz-copy-source-if-modified-since",
    if_unmodified_since: "x-amz-copy-source-if-unmodified-since",
};

/// What conditions come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Go,
    NotModified,
    Failed,
}

impl Names {
    pub(super) fn judge(&self, headers: &HeaderMap, facts: Facts<'_>) -> Verdict {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let date = |name: &str| {
            let date = httpdate::parse_http_date(text(name)?).ok()?;
            Some(OffsetDateTime::from(date))
        };
        let modified = facts.last_modified();
        let is_failed = match text(self.if_match) {
            Some(tags) => !matches(tags, facts.etag()),
            None => date(self.if_unmodified_since)
                .zip(modified)
                .is_some_and(|(since, modified)| modified > since),
        };
        if is_failed {
            return Verdict::Failed;
        }
        let is_same = match text(self.if_none_match) {
            Some(tags) => matches(tags, facts.etag()),
            None => date(self.if_modified_since)
                .zip(modified)
                .is_some_and(|(since, modified)| modified <= since),
        };
        match is_same {
            true => Verdict::NotModified,
            false => Verdict::Go,
        }
    }
}

/// Clients give tags with quotes and without.
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
