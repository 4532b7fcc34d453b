//! `If-None-Match`, `If-Modified-Since`, `If-Range` (RFC 9110 §13).

use http::{
    HeaderMap,
    header::{IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE},
};
use time::OffsetDateTime;

/// What identifies the current bytes of an object.
#[derive(Clone, Copy)]
pub(crate) struct Validators<'a> {
    /// With its quotes.
    pub(crate) etag: Option<&'a str>,
    /// In whole seconds.
    pub(crate) last_modified: Option<OffsetDateTime>,
}

impl Validators<'_> {
    /// Whether the client has these bytes already: 304.
    pub(crate) fn is_fresh(&self, request: &HeaderMap) -> bool {
        if request.contains_key(IF_NONE_MATCH) {
            let mut tags = request.get_all(IF_NONE_MATCH).iter();
            return tags.any(|tags| tags.to_str().is_ok_and(|tags| self.matches_any(tags)));
        }
        let since = date(request, IF_MODIFIED_SINCE);
        match (since, self.last_modified) {
            (Some(since), Some(modified)) => modified <= since,
            _ => false,
        }
    }

    /// Whether a range may be served: the client has other bytes of this version.
    pub(crate) fn allow_range(&self, request: &HeaderMap) -> bool {
        let Some(condition) = request.get(IF_RANGE).and_then(|value| value.to_str().ok()) else {
            return !request.contains_key(IF_RANGE);
        };
        let condition = condition.trim();
        if condition.starts_with('"') || condition.starts_with("W/") {
            // Weak tags do not promise equal bytes. (A date may be a Wednesday's.)
            return self.etag.is_some_and(|etag| etag == condition);
        }
        date(request, IF_RANGE).is_some_and(|date| self.last_modified == Some(date))
    }

    fn matches_any(&self, tags: &str) -> bool {
        let Some(etag) = self.etag else {
            return tags.trim() == "*";
        };
        let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        tags.trim() == "*" || tags.split(',').any(|tag| strong(tag) == strong(etag))
    }
}

fn date(request: &HeaderMap, name: http::HeaderName) -> Option<OffsetDateTime> {
    let text = request.get(name)?.to_str().ok()?;
    httpdate::parse_http_date(text)
        .ok()
        .map(OffsetDateTime::from)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: Validators<'_> = Validators {
        etag: Some("\"abc\""),
        last_modified: Some(datetime!(2026-01-02 03:04:05 UTC)),
    };

    fn with(name: http::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, http::HeaderValue::from_static(value))])
    }

    #[test]
    fn tags_are_compared_weakly_and_win_over_dates() {
        let fresh = |value| NOW.is_fresh(&with(IF_NONE_MATCH, value));
        assert!(fresh("\"abc\""));
        assert!(fresh("W/\"abc\""));
        assert!(fresh("\"x\", \"abc\""));
        assert!(fresh("*"));
        assert!(!fresh("\"x\""));
        let mut both = with(IF_NONE_MATCH, "\"x\"");
        let later = http::HeaderValue::from_static("Fri, 02 Jan 2026 03:04:05 GMT");
        both.insert(IF_MODIFIED_SINCE, later);
        assert!(!NOW.is_fresh(&both));
        both.remove(IF_NONE_MATCH);
        assert!(NOW.is_fresh(&both));
    }

    #[test]
    fn a_range_needs_the_very_same_bytes() {
        let allowed = |value| NOW.allow_range(&with(IF_RANGE, value));
        assert!(allowed("\"abc\""));
        assert!(!allowed("W/\"abc\""));
        assert!(!allowed("\"x\""));
        assert!(allowed("Fri, 02 Jan 2026 03:04:05 GMT"));
        assert!(!allowed("Fri, 02 Jan 2026 03:04:06 GMT"));
        assert!(NOW.allow_range(&HeaderMap::new()));
        let on_a_wednesday = Validators {
            last_modified: Some(datetime!(2026-01-07 03:04:05 UTC)),
            ..NOW
        };
        let header = with(IF_RANGE, "Wed, 07 Jan 2026 03:04:05 GMT");
        assert!(on_a_wednesday.allow_range(&header));
    }
}
