//! Status and `Content-Range` of a page of rows (rest contract §3.3).

use http::StatusCode;

use crate::{RangeProblem, request::range::RowRange};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageStatus {
    offset: i64,
    rows: i64,
    total: Option<i64>,
}

impl PageStatus {
    pub(super) fn new(range: RowRange, rows: i64, total: Option<i64>) -> Self {
        Self {
            offset: range.offset,
            rows,
            total,
        }
    }

    pub(super) fn code(self) -> StatusCode {
        match self.total {
            Some(total) if self.offset > total => StatusCode::RANGE_NOT_SATISFIABLE,
            Some(total) if self.rows < total => StatusCode::PARTIAL_CONTENT,
            Some(_) | None => StatusCode::OK,
        }
    }

    /// `Some` if the offset is past the last row.
    pub(super) fn range_problem(self) -> Option<RangeProblem> {
        let total = self.total.filter(|total| self.offset > *total)?;
        Some(RangeProblem::OutOfBounds {
            offset: self.offset,
            total,
        })
    }

    pub(super) fn content_range(self) -> String {
        let last = self.offset.saturating_add(self.rows - 1);
        content_range(self.offset, last, self.total)
    }
}

/// `<lower>-<upper>/<total>`, with `*` for an empty range and for an unknown total.
pub(super) fn content_range(lower: i64, upper: i64, total: Option<i64>) -> String {
    let total_text = total.map_or("*".to_owned(), |total| total.to_string());
    if lower <= upper && total != Some(0) {
        format!("{lower}-{upper}/{total_text}")
    } else {
        format!("*/{total_text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offset: i64, rows: i64, total: Option<i64>, status: u16, range: &str) {
        let requested = RowRange {
            offset,
            limit: None,
        };
        let page = PageStatus::new(requested, rows, total);
        assert_eq!(page.code().as_u16(), status);
        assert_eq!(page.content_range(), range);
    }

    #[test]
    fn a_page_is_partial_only_when_the_total_is_known() {
        check(0, 5, None, 200, "0-4/*");
        check(0, 5, Some(5), 200, "0-4/5");
        check(0, 2, Some(5), 206, "0-1/5");
    }

    #[test]
    fn a_page_may_begin_at_the_last_number_there_is() {
        check(
            i64::MAX,
            1,
            None,
            200,
            "9223372036854775807-9223372036854775807/*",
        );
        check(
            i64::MAX,
            2,
            None,
            200,
            "9223372036854775807-9223372036854775807/*",
        );
    }

    #[test]
    fn an_empty_page_has_no_range() {
        check(0, 0, None, 200, "*/*");
        check(0, 0, Some(0), 200, "*/0");
        check(5, 0, Some(5), 206, "*/5");
    }

    #[test]
    fn a_page_behind_the_last_row_cannot_be_had() {
        check(100, 0, Some(5), 416, "*/5");
    }
}
