//! Row ranges: `limit`, `offset` and the `Range` header (rest contract §1.5, §3.3).

use http::{HeaderMap, Method, header};

use crate::error::{RangeProblem, RestError};

/// `LIMIT` and `OFFSET`. The default is all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowRange {
    pub(crate) offset: i64,
    /// `None` for no limit.
    pub(crate) limit: Option<i64>,
}

impl RowRange {
    pub(crate) fn is_all(self) -> bool {
        self == Self::default()
    }

    /// The same with no more than `max_rows` rows.
    pub(crate) fn at_most(self, max_rows: Option<i64>) -> Self {
        let limit = match (self.limit, max_rows) {
            (Some(limit), Some(max)) => Some(limit.min(max)),
            (limit, max) => limit.or(max),
        };
        Self { limit, ..self }
    }
}

/// First and last row, counted from zero. Ranges of query and header are combined in this form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    first: i64,
    /// `None` for an open end.
    last: Option<i64>,
}

impl Interval {
    pub(super) const ALL: Self = Self {
        first: 0,
        last: None,
    };
    const NO_ROWS: Self = Self {
        first: 0,
        last: Some(-1),
    };

    /// From the texts of `limit` and `offset`. Text that is not a number counts as absent, except
    /// for a limit beside an offset, which counts as zero.
    pub(super) fn from_limit_offset(limit: Option<&str>, offset: Option<&str>) -> Self {
        let first = offset.and_then(integer).unwrap_or(0);
        let limit = match (limit, offset) {
            (Some(limit), Some(_)) => Some(integer(limit).unwrap_or(0)),
            (limit, _) => limit.and_then(integer),
        };
        let last = limit.map(|limit| first.saturating_add(limit).saturating_sub(1));
        Self { first, last }
    }

    pub(super) fn rows(self) -> RowRange {
        let limit = self
            .last
            .map(|last| last.saturating_sub(self.first).saturating_add(1));
        RowRange {
            offset: self.first,
            limit,
        }
    }

    /// `5-9` or `5-`; anything else means all rows.
    fn from_range_header(text: &[u8]) -> Self {
        let parse = || {
            let (first, last) = std::str::from_utf8(text).ok()?.split_once('-')?;
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let is_range = !first.is_empty() && is_number(first) && is_number(last);
            is_range.then(|| Self {
                first: integer(first).unwrap_or(0),
                last: integer(last),
            })
        };
        parse().unwrap_or(Self::ALL)
    }

    fn is_empty(self) -> bool {
        self.last.is_some_and(|last| last < self.first)
    }

    /// Whether it is `limit=0` without an offset. With an offset the end moves, and it is an empty
    /// range like others.
    fn is_limit_zero(self) -> bool {
        self.last == Self::NO_ROWS.last
    }

    /// The intersection; `None` if it is empty.
    fn intersect(self, other: Self) -> Option<Self> {
        let last = match (self.last, other.last) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let both = Self {
            first: self.first.max(other.first),
            last,
        };
        let is_something = !self.is_empty() && !other.is_empty() && !both.is_empty();
        is_something.then_some(both)
    }
}

/// The range of the root: `limits` from the query string, combined with the `Range` header.
pub(super) fn root_range(
    method: &Method,
    headers: &HeaderMap,
    limits: Interval,
) -> Result<RowRange, RestError> {
    let header = match headers.get(header::RANGE) {
        Some(range) if method == Method::GET => Interval::from_range_header(range.as_bytes()),
        _ => Interval::ALL,
    };
    let range = match (limits.is_limit_zero(), header.intersect(limits)) {
        (true, _) => Interval::NO_ROWS,
        (false, Some(range)) => range,
        (false, None) if header.is_empty() => {
            return Err(RestError::InvalidRange(RangeProblem::LowerAboveUpper));
        }
        (false, None) => return Err(RestError::InvalidRange(RangeProblem::NegativeLimit)),
    };
    if method == Method::PUT && range != Interval::ALL {
        Err(RestError::PutRange)
    } else {
        Ok(range.rows())
    }
}

/// An integer, perhaps with blanks around it; saturates.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let largest = if text.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    };
    Some(text.parse().unwrap_or(largest))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    struct Requested {
        method: Method,
        limit: Option<&'static str>,
        offset: Option<&'static str>,
        header: Option<&'static str>,
    }

    const GET: Requested = Requested {
        method: Method::GET,
        limit: None,
        offset: None,
        header: None,
    };

    fn range(requested: Requested) -> Result<RowRange, RestError> {
        let mut headers = HeaderMap::new();
        if let Some(range) = requested.header {
            headers.insert(header::RANGE, HeaderValue::from_static(range));
        }
        let limits = Interval::from_limit_offset(requested.limit, requested.offset);
        root_range(&requested.method, &headers, limits)
    }

    fn check(requested: Requested, offset: i64, limit: Option<i64>) {
        let range = range(requested).expect("a range");
        assert_eq!(range, RowRange { offset, limit });
    }

    fn check_limits(limit: &'static str, offset: &'static str, expected: (i64, Option<i64>)) {
        let given = |text: &'static str| (!text.is_empty()).then_some(text);
        let (limit, offset) = (given(limit), given(offset));
        check(
            Requested {
                limit,
                offset,
                ..GET
            },
            expected.0,
            expected.1,
        );
    }

    fn check_problem(requested: Requested, expected: RangeProblem) {
        match range(requested) {
            Err(RestError::InvalidRange(problem)) => assert_eq!(problem, expected),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn limit_and_offset_make_a_range() {
        check(GET, 0, None);
        check_limits("5", "", (0, Some(5)));
        check_limits("", "3", (3, None));
        check_limits("5", "3", (3, Some(5)));
        check_limits(" 5 ", "", (0, Some(5)));
        check_limits("0", "", (0, Some(0)));
        check_limits("99999999999999999999", "", (0, Some(i64::MAX)));
    }

    #[test]
    fn text_that_is_no_number_is_ignored() {
        check_limits("many", "", (0, None));
        check_limits("+5", "", (0, None));
        check_limits("5", "many", (0, Some(5)));
        check_limits("", "many", (0, None));
    }

    #[test]
    fn negative_offsets_count_as_zero_and_take_from_the_limit() {
        check_limits("", "-5", (0, None));
        check_limits("10", "-5", (0, Some(5)));
    }

    #[test]
    fn limits_that_leave_nothing_are_rejected() {
        let of = |limit, offset| Requested {
            limit,
            offset,
            ..GET
        };
        check_problem(of(Some("-1"), None), RangeProblem::NegativeLimit);
        check_problem(of(Some("0"), Some("5")), RangeProblem::NegativeLimit);
        check_problem(of(Some("5"), Some("-10")), RangeProblem::NegativeLimit);
        check_problem(of(Some("many"), Some("5")), RangeProblem::NegativeLimit);
    }

    #[test]
    fn the_header_counts_for_get_only() {
        let of = |method, header| Requested {
            method,
            header: Some(header),
            ..GET
        };
        check(of(Method::GET, "0-9"), 0, Some(10));
        check(of(Method::GET, "5-"), 5, None);
        check(of(Method::GET, "items=0-9"), 0, None);
        check(of(Method::GET, "-5"), 0, None);
        check(of(Method::HEAD, "0-9"), 0, None);
        check(of(Method::PUT, "0-9"), 0, None);
        check_problem(of(Method::GET, "5-2"), RangeProblem::LowerAboveUpper);
        check(of(Method::POST, "5-2"), 0, None);
    }

    #[test]
    fn header_and_limits_meet() {
        let of = |header, limit, offset| Requested {
            header,
            limit,
            offset,
            ..GET
        };
        check(of(Some("2-20"), Some("5"), None), 2, Some(3));
        check(of(Some("0-4"), Some("10"), Some("3")), 3, Some(2));
        check(of(Some("5-2"), Some("0"), None), 0, Some(0));
        check_problem(
            of(Some("0-4"), None, Some("10")),
            RangeProblem::NegativeLimit,
        );
    }

    #[test]
    fn put_takes_no_range() {
        let of = |limit, offset| {
            range(Requested {
                method: Method::PUT,
                limit,
                offset,
                ..GET
            })
        };
        assert!(matches!(of(Some("1"), None), Err(RestError::PutRange)));
        assert!(matches!(of(Some("0"), None), Err(RestError::PutRange)));
        assert!(matches!(of(None, Some("1")), Err(RestError::PutRange)));
        assert!(of(None, Some("0")).is_ok());
    }
}
