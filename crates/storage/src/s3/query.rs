//! A query string of the S3 protocol: names count in the case in which they stand.

use std::borrow::Cow;

use crate::error::StorageError;

/// Decoded names and values, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn read(text: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(text.unwrap_or_default().as_bytes());
        let owned = |text: Cow<'_, str>| text.into_owned();
        Self(
            pairs
                .map(|(name, value)| (owned(name), owned(value)))
                .collect(),
        )
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.pairs();
        pairs.find_map(|(found, value)| (found == name).then_some(value))
    }

    /// A value that is there and says something.
    pub(super) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// A whole number within bounds.
    pub(super) fn number(
        &self,
        name: &str,
        least: i64,
        most: i64,
    ) -> Result<Option<i64>, StorageError> {
        let Some(text) = self.filled(name) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(StorageError::invalid_parameter(name)),
        }
    }
}
