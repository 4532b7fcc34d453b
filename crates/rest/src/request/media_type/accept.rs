//! The `Accept` and `Content-Type` headers.

use std::cmp::Ordering;

use http::{HeaderMap, header};
use winnow::{ModalResult, Parser, ascii::digit1, combinator::opt, token::one_of};

use super::MediaType;

impl MediaType {
    /// What the client accepts, in the order of its preference; never empty.
    pub(crate) fn accepted(headers: &HeaderMap) -> Vec<Self> {
        let Some(accept) = headers.get(header::ACCEPT) else {
            return vec![Self::Any];
        };
        let accept = latin1(accept.as_bytes());
        if !accept.contains([',', ';', ' ']) {
            return vec![Self::parse(&accept)];
        }
        let mut ranges: Vec<MediaRange> = accept.split(',').map(MediaRange::parse).collect();
        ranges.sort_by(MediaRange::best_first);
        ranges
            .iter()
            .map(|range| Self::parse(&range.text))
            .collect()
    }

    /// The type of the request's body; JSON without a header.
    pub(crate) fn of_request_body(headers: &HeaderMap) -> Self {
        match headers.get(header::CONTENT_TYPE) {
            Some(content_type) => Self::parse(&latin1(content_type.as_bytes())),
            None => Self::Json,
        }
    }
}

/// Decodes Latin-1, where every byte is a character.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

struct MediaRange {
    /// Up to the `q` parameter, without spaces.
    text: String,
    quality: f64,
    /// Higher with parameters, lower with asterisks.
    specificity: i64,
}

impl MediaRange {
    fn parse(text: &str) -> Self {
        let text = text.replace(' ', "");
        let (text, quality) = match text.split_once(";q=") {
            Some((text, quality)) => (text.to_owned(), self::quality(quality)),
            None => (text, 1.0),
        };
        let count = |char| text.matches(char).count() as i64;
        let specificity = count(';') - count('*');
        Self {
            text,
            quality,
            specificity,
        }
    }

    fn best_first(&self, other: &Self) -> Ordering {
        let by_quality = other.quality.total_cmp(&self.quality);
        by_quality.then(other.specificity.cmp(&self.specificity))
    }
}

/// The leading decimal number; 1 if there is none.
fn quality(text: &str) -> f64 {
    let fraction = opt(('.', digit1));
    let exponent = opt((one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1));
    let mut number = (opt('-'), digit1, fraction, exponent).take().parse_to();
    let parsed: ModalResult<f64> = number.parse_next(&mut &*text);
    parsed.unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(accept: &'static str, expected: &[&str]) {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        let accepted = MediaType::accepted(&headers);
        let found: Vec<String> = accepted.iter().map(MediaType::mime).collect();
        assert_eq!(found, expected, "{accept}");
    }

    #[test]
    fn no_header_accepts_anything() {
        assert_eq!(MediaType::accepted(&HeaderMap::new()), [MediaType::Any]);
        assert_eq!(
            MediaType::of_request_body(&HeaderMap::new()),
            MediaType::Json
        );
    }

    #[test]
    fn better_quality_comes_first_then_what_is_more_special() {
        check(
            "text/csv, application/json",
            &["text/csv", "application/json"],
        );
        check("text/csv, */*; q=0.01", &["text/csv", "*/*"]);
        check("*/*, text/csv", &["text/csv", "*/*"]);
        check(
            "text/csv;q=0.5, application/json",
            &["application/json", "text/csv"],
        );
        check(
            "a/b;q=0.5,c/d;q=0.8;level=1,e/f;q=x",
            &["e/f", "c/d", "a/b"],
        );
        check(
            "a/a;q=0.1,b/b;q=-1,c/c;q=1e-3,d/d;q=.5",
            &["d/d", "a/a", "c/c", "b/b"],
        );
        check("a/*, b/c, d/e;x=1", &["d/e;x=1", "b/c", "a/*"]);
    }

    #[test]
    fn spaces_do_not_count() {
        check(
            "application/vnd.pgrst.object+json ; nulls=stripped",
            &["application/vnd.pgrst.object+json;nulls=stripped"],
        );
        check("text/html , undefined", &["text/html", "undefined"]);
    }
}
