//! Dotted names of settings, such as `functions.hello.verify_jwt`.
//!
//! A segment that is not a bare TOML key is written in quotes, so that a bucket called `my.files`
//! keeps its name: `storage.buckets."my.files".public`.

use std::fmt;

/// The segments of a setting's name. Ordered by segments, so that members of one table are adjacent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct SettingPath(Vec<String>);

impl SettingPath {
    /// Reads a dotted name. Quotes that never close are taken literally.
    pub(crate) fn parse(text: &str) -> Self {
        let mut segments = Vec::new();
        let mut rest = text;
        loop {
            let (segment, after) = match quoted_segment(rest) {
                Some(found) => found,
                None => match rest.split_once('.') {
                    Some((segment, after)) => (segment.to_owned(), Some(after)),
                    None => (rest.to_owned(), None),
                },
            };
            segments.push(segment);
            match after {
                Some(after) => rest = after,
                None => return Self(segments),
            }
        }
    }

    pub(crate) fn segments(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn child(&self, segment: &str) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment.to_owned());
        Self(segments)
    }

    pub(crate) fn parent(&self) -> Option<Self> {
        let (_, front) = self.0.split_last()?;
        (!front.is_empty()).then(|| Self(front.to_vec()))
    }
}

impl<S: Into<String>> FromIterator<S> for SettingPath {
    fn from_iter<I: IntoIterator<Item = S>>(segments: I) -> Self {
        Self(segments.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for SettingPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str(".")?;
            }
            if is_bare(segment) {
                formatter.write_str(segment)?;
            } else {
                write!(
                    formatter,
                    "\"{}\"",
                    segment.replace('\\', "\\\\").replace('"', "\\\"")
                )?;
            }
        }
        Ok(())
    }
}

/// `*` counts as bare because the table of keys uses it for "any name".
fn is_bare(segment: &str) -> bool {
    segment == "*"
        || (!segment.is_empty()
            && segment
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'))
}

/// A leading `"…"` followed by a dot or the end, and what comes after the dot.
fn quoted_segment(text: &str) -> Option<(String, Option<&str>)> {
    let inner = text.strip_prefix('"')?;
    let mut segment = String::new();
    let mut characters = inner.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => segment.push(characters.next()?.1),
            '"' => {
                let after = &inner[index + 1..];
                return match after.strip_prefix('.') {
                    Some(next) => Some((segment, Some(next))),
                    None => after.is_empty().then_some((segment, None)),
                };
            }
            other => segment.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_survive_being_written_and_read() {
        for segments in [
            vec!["api", "port"],
            vec!["storage", "buckets", "my.files", "public"],
            vec!["storage", "buckets", "say \"hi\" \\ there", "public"],
            vec!["a", "", "b"],
        ] {
            let path: SettingPath = segments.iter().copied().collect();

            assert_eq!(SettingPath::parse(&path.to_string()), path);
        }
    }

    #[test]
    fn an_unclosed_quote_is_part_of_the_name() {
        let path = SettingPath::parse("a.\"b");

        assert_eq!(path.segments(), ["a", "\"b"]);
    }
}
