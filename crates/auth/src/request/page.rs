//! Page numbers of lists, and their `Link` headers (pitfall 14).

use std::fmt::Write;

use http::{HeaderMap, HeaderValue, header};
use url::form_urlencoded;

use crate::AuthError;

const DEFAULT_SIZE: u64 = 50;
/// Limits the memory for one response.
const MAX_SIZE: u64 = 10_000;

/// One page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    /// Starts at 1.
    number: u64,
    size: u64,
}

/// Keys and values of a query string.
pub(crate) type QueryPairs = Vec<(String, String)>;

/// Parses a query string.
pub(crate) fn parse_pairs(query: Option<&str>) -> QueryPairs {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.into_owned().collect()
}

/// The first value of a key; empty ones count as absent.
pub(crate) fn find_value<'a>(pairs: &'a QueryPairs, key: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(name, _)| name == key);
    found
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.is_empty())
}

impl Page {
    /// `page` and `per_page`; clients send them empty when they want the defaults.
    pub(crate) fn parse(pairs: &QueryPairs) -> Result<Self, AuthError> {
        let number = parse_number(pairs, "page")?.unwrap_or(1);
        let size = parse_page_size(pairs)?;
        Ok(Self {
            number: number.max(1),
            size: size.min(MAX_SIZE),
        })
    }

    /// One page with all rows.
    pub(crate) fn single(total: u64) -> Self {
        Self {
            number: 1,
            size: total.max(1),
        }
    }

    /// For `limit $n`.
    pub(crate) fn limit(self) -> i64 {
        i64::try_from(self.size).unwrap_or(i64::MAX)
    }

    /// For `offset $n`. Saturates on overflow, where there are no rows either.
    pub(crate) fn offset(self) -> i64 {
        let offset = (self.number - 1).saturating_mul(self.size);
        i64::try_from(offset).unwrap_or(i64::MAX)
    }

    /// The minimum number of rows, given that this page has `rows`.
    pub(crate) fn rows_seen(self, rows: usize) -> u64 {
        match rows {
            0 => 0,
            rows => (self.number - 1).saturating_mul(self.size) + rows as u64,
        }
    }

    /// `Link` and `X-Total-Count`. Clients parse the number after the first `=`, so `page` comes
    /// first in the links.
    pub(crate) fn headers(self, path: &str, query_pairs: &QueryPairs, total: u64) -> HeaderMap {
        let last = total.div_ceil(self.size);
        let mut link = String::new();
        if last > self.number {
            let next = self.url(path, query_pairs, self.number + 1);
            let _ = write!(link, "<{next}>; rel=\"next\", ");
        }
        let _ = write!(
            link,
            "<{}>; rel=\"last\"",
            self.url(path, query_pairs, last)
        );
        let mut headers = HeaderMap::new();
        if let Ok(link) = HeaderValue::from_str(&link) {
            headers.insert(header::LINK, link);
        }
        headers.insert("x-total-count", HeaderValue::from(total));
        headers
    }

    fn url(self, path: &str, query_pairs: &QueryPairs, number: u64) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("page", &number.to_string());
        query.append_pair("per_page", &self.size.to_string());
        let others = query_pairs.iter();
        query.extend_pairs(others.filter(|(name, _)| name != "page" && name != "per_page"));
        format!("{path}?{}", query.finish())
    }
}

pub(crate) fn parse_number(pairs: &QueryPairs, key: &str) -> Result<Option<u64>, AuthError> {
    let Some(text) = find_value(pairs, key) else {
        return Ok(None);
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = text.parse().ok().filter(|_| is_number);
    parsed.map(Some).ok_or_else(|| {
        AuthError::validation_failed(format!(
            "Bad Pagination Parameters: {key} must be a positive number"
        ))
    })
}

fn parse_page_size(pairs: &QueryPairs) -> Result<u64, AuthError> {
    match parse_number(pairs, "per_page")? {
        None => Ok(DEFAULT_SIZE),
        Some(0) => Err(AuthError::validation_failed(
            "Bad Pagination Parameters: per_page must be at least 1",
        )),
        Some(size) => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(query: &str) -> Option<(i64, i64)> {
        let page = Page::parse(&parse_pairs(Some(query))).ok()?;
        Some((page.limit(), page.offset()))
    }

    #[test]
    fn empty_values_are_the_defaults_and_nonsense_is_rejected() {
        let check = |query, expected| assert_eq!(parsed(query), expected, "{query}");
        check("", Some((50, 0)));
        check("page=&per_page=", Some((50, 0)));
        check("page=3&per_page=10", Some((10, 20)));
        check("page=0", Some((50, 0)));
        check("per_page=99999999", Some((10_000, 0)));
        for query in [
            "page=-1",
            "page=x",
            "page=1.5",
            "page=%2B1",
            "per_page=0",
            "per_page=-5",
            "per_page=ten",
            "page=99999999999999999999",
        ] {
            check(query, None);
        }
    }

    fn link(query: &str, total: u64) -> String {
        let query_pairs = parse_pairs(Some(query));
        let page = Page::parse(&query_pairs).expect("a good page");
        let headers = page.headers("/admin/users", &query_pairs, total);
        assert_eq!(headers["x-total-count"], total.to_string());
        headers[header::LINK].to_str().expect("ASCII").to_owned()
    }

    #[test]
    fn links_begin_with_the_page() {
        let check = |query, total, expected| assert_eq!(link(query, total), expected, "{query}");
        check(
            "",
            420,
            "</admin/users?page=2&per_page=50>; rel=\"next\", \
             </admin/users?page=9&per_page=50>; rel=\"last\"",
        );
        check(
            "page=9",
            420,
            "</admin/users?page=9&per_page=50>; rel=\"last\"",
        );
        check(
            "filter=a%22%3E&page=1&per_page=2&sort=created_at%20asc",
            3,
            "</admin/users?page=2&per_page=2&filter=a%22%3E&sort=created_at+asc>; rel=\"next\", \
             </admin/users?page=2&per_page=2&filter=a%22%3E&sort=created_at+asc>; rel=\"last\"",
        );
        check("", 0, "</admin/users?page=0&per_page=50>; rel=\"last\"");
    }

    proptest! {
        #[test]
        fn any_query_is_a_page_or_an_error(query in ".*", total: u64) {
            let query_pairs = parse_pairs(Some(&query));
            if let Ok(page) = Page::parse(&query_pairs) {
                prop_assert!(page.limit() > 0 && page.offset() >= 0);
                page.headers("/x", &query_pairs, total);
            }
        }
    }
}
