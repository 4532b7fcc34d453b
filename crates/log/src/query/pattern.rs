//! Comparing values without regard to case.

use super::prefilter::Required;

/// What a value must look like. Texts are held in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The whole value.
    Exact(String),
    /// The whole value, `*` standing for any text.
    Glob(String),
    /// A status of this class: `5xx`.
    StatusClass(u8),
}

impl Pattern {
    pub(super) fn exact(value: &str) -> Self {
        Self::Exact(value.to_lowercase())
    }

    /// What an unquoted value of `key` means.
    pub(super) fn parse(key: &str, value: &str) -> Self {
        let value = value.to_lowercase();
        match value.as_bytes() {
            [class @ b'1'..=b'5', b'x', b'x'] if key == "status" => Self::StatusClass(*class),
            bytes if bytes.contains(&b'*') => Self::Glob(value),
            _ => Self::Exact(value),
        }
    }

    /// What the line of every record has whose value is like this.
    pub(super) fn required(&self) -> Option<Required<'_>> {
        match self {
            Self::Exact(value) => Some(Required::Text(value)),
            Self::Glob(glob) => {
                let longest = glob.split('*').max_by_key(|part| part.len());
                longest.map(Required::Text)
            }
            Self::StatusClass(class) => Some(Required::StatusClass(*class)),
        }
    }

    pub(super) fn matches(&self, value: &str) -> bool {
        match self {
            Self::Exact(expected) if value.is_ascii() => value.eq_ignore_ascii_case(expected),
            Self::Exact(expected) => value.to_lowercase() == *expected,
            Self::Glob(glob) => glob_matches(glob.as_bytes(), value.to_lowercase().as_bytes()),
            Self::StatusClass(class) => {
                matches!(value.as_bytes(), [first, b'0'..=b'9', b'0'..=b'9'] if first == class)
            }
        }
    }
}

/// Whether `text` contains `needle`, which must be in lower case.
pub(super) fn contains_ignoring_case(text: &str, needle: &str) -> bool {
    if !text.is_ascii() {
        return text.to_lowercase().contains(needle);
    }
    let needle = needle.as_bytes();
    needle.is_empty()
        || text
            .as_bytes()
            .windows(needle.len())
            .any(|part| part.eq_ignore_ascii_case(needle))
}

/// Goes through the text once; after a mismatch the last `*` takes one byte more.
fn glob_matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut g, mut t) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while t < text.len() {
        if glob.get(g) == Some(&b'*') {
            last_star = Some((g, t));
            g += 1;
        } else if glob.get(g) == Some(&text[t]) {
            g += 1;
            t += 1;
        } else if let Some((star, taken)) = last_star {
            last_star = Some((star, taken + 1));
            g = star + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, value: &str, expected: bool) {
        let actual = Pattern::parse("status", pattern).matches(value);
        assert_eq!(actual, expected, "{pattern} on {value}");
    }

    #[test]
    fn stars_stand_for_any_text() {
        check("/rest/v1/*", "/rest/v1/orders", true);
        check("/rest/v1/*", "/rest/v1/", true);
        check("/rest/v1/*", "/auth/v1/rest/v1/", false);
        check("*orders*", "/rest/v1/Orders?x", true);
        check("a*b*c", "aXbXbXc", true);
        check("a*b*c", "aXbXbX", false);
        check("*", "", true);
        check("ключ*", "Ключи", true);
    }

    #[test]
    fn without_a_star_the_whole_value_counts() {
        check("Orders", "oRDERS", true);
        check("orders", "orders2", false);
        check("größe", "GRÖSSE", false);
        check("größe", "GRÖßE", true);
    }

    #[test]
    fn a_class_takes_every_status_of_its_hundred() {
        check("5xx", "503", true);
        check("5XX", "500", true);
        check("5xx", "404", false);
        check("5xx", "5xx", false);
        check("5xx", "5000", false);
        assert!(Pattern::parse("name", "5xx").matches("5xx"));
    }

    #[test]
    fn text_is_found_in_any_case_and_script() {
        assert!(contains_ignoring_case("Connection TIMED out", "timed"));
        assert!(contains_ignoring_case("ОШИБКА", "ошибка"));
        assert!(!contains_ignoring_case("ok", "okay"));
    }
}
