//! Names and values of a query or a form, in their order.

use std::collections::HashSet;

use url::form_urlencoded::parse;

/// Pairs; of several with one name, the first counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs(Vec<(String, String)>);

impl Pairs {
    pub(super) fn parse(text: Option<&str>) -> Self {
        let mut pairs = Self::default();
        pairs.extend(text.unwrap_or_default().as_bytes());
        pairs
    }

    /// Adds those of a form.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let parsed = parse(bytes);
        self.0
            .extend(parsed.map(|(name, value)| (name.into_owned(), value.into_owned())));
    }

    /// The value of a name, empty where there is none.
    pub(super) fn first(&self, name: &str) -> &str {
        let mut named = self.0.iter().filter(|(known, _)| known == name);
        named.next().map_or("", |(_, value)| value)
    }

    /// Each name once, with its first value.
    pub(super) fn distinct(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut seen = HashSet::new();
        let pairs = self.0.iter();
        pairs
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(move |(name, _)| seen.insert(*name))
    }
}
