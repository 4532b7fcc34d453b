//! A query string of the S3 protocol, with case-sensitive names.

use std::{borrow::Cow, fmt};

use crate::error::StorageError;

/// Decoded names and values, in their order.
#[derive(Clone, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: Option<&str>) -> Self {
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

    /// A value that is present and not empty.
    pub(super) fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// An integer within bounds.
    pub(super) fn number(
        &self,
        name: &str,
        least: i64,
        most: i64,
    ) -> Result<Option<i64>, StorageError> {
        let Some(text) = self.non_empty(name) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(StorageError::invalid_parameter(name)),
        }
    }
}

/// Without the values: a presigned URL carries a signature, and may carry an access token.
impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.pairs().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_values() {
        let query = Query::parse(Some("prefix=a&X-Amz-Security-Token=secret"));
        assert_eq!(
            format!("{query:?}"),
            r#"["prefix", "X-Amz-Security-Token"]"#
        );
    }
}
