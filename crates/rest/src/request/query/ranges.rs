//! `limit` and `offset`, of the root and of embeds (rest contract §1.5).

use std::borrow::Cow;

use crate::{
    error::RestError,
    request::{
        EmbedPath,
        grammar::{self, TreePath},
        range::{Interval, RowRange},
    },
};

/// The last values of one level.
#[derive(Debug, Default)]
struct Level {
    /// The key of its limit.
    key: String,
    limit: Option<String>,
    offset: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Ranges(Vec<Level>);

impl Ranges {
    pub(super) fn set_limit(&mut self, key: &str, value: Cow<'_, str>) {
        self.level(Cow::Borrowed(key)).limit = Some(value.into_owned());
    }

    pub(super) fn set_offset(&mut self, key: &str, value: Cow<'_, str>) {
        let level = key.strip_suffix("offset").unwrap_or_default();
        self.level(Cow::Owned(format!("{level}limit"))).offset = Some(value.into_owned());
    }

    fn level(&mut self, key: Cow<'_, str>) -> &mut Level {
        let at = match self.0.iter().position(|level| level.key == key) {
            Some(at) => at,
            None => {
                let key = key.into_owned();
                self.0.push(Level {
                    key,
                    ..Level::default()
                });
                self.0.len() - 1
            }
        };
        &mut self.0[at]
    }

    /// The root's, then those of embeds.
    pub(super) fn finish(self) -> Result<(Interval, Vec<(EmbedPath, RowRange)>), RestError> {
        let mut root = Interval::ALL;
        let mut embeds = Vec::new();
        for level in self.0 {
            let interval =
                Interval::from_limit_offset(level.limit.as_deref(), level.offset.as_deref());
            if level.key == "limit" {
                root = interval;
            } else {
                let (path, _) = grammar::read::<TreePath>(&level.key)?;
                embeds.push((path, interval.rows()));
            }
        }
        Ok((root, embeds))
    }
}
