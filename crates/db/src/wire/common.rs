//! The statements around every request (BEGIN, settings, COMMIT), which each connection prepares once
//! under a fixed name.

use std::{borrow::Cow, sync::LazyLock};

use crate::{Access, Begin, Isolation, local_settings::statement_for};

/// Numbers must fit into the bits of [`PreparedSet`].
const MAX: usize = 64;
const FIRST_SETTINGS: usize = 16;

static NAMES: LazyLock<[String; MAX]> =
    LazyLock::new(|| std::array::from_fn(|number| format!("c{number}")));

/// One of these statements.
pub(crate) struct Common {
    /// `None` for a statement that is not prepared by name.
    number: Option<usize>,
    pub(super) sql: Cow<'static, str>,
}

impl Common {
    pub(crate) const COMMIT: Self = Self::fixed(6, "commit");
    pub(crate) const ROLLBACK: Self = Self::fixed(7, "rollback");
    pub(crate) const CHECK_CONSTRAINTS: Self = Self::fixed(8, "set constraints all immediate");

    const fn fixed(number: usize, sql: &'static str) -> Self {
        Self {
            number: Some(number),
            sql: Cow::Borrowed(sql),
        }
    }

    pub(crate) const fn begin(begin: Begin) -> Self {
        use {Access::*, Isolation::*};
        match (begin.isolation, begin.access) {
            (ReadCommitted, ReadOnly) => {
                Self::fixed(0, "begin isolation level read committed read only")
            }
            (ReadCommitted, ReadWrite) => {
                Self::fixed(1, "begin isolation level read committed read write")
            }
            (RepeatableRead, ReadOnly) => {
                Self::fixed(2, "begin isolation level repeatable read read only")
            }
            (RepeatableRead, ReadWrite) => {
                Self::fixed(3, "begin isolation level repeatable read read write")
            }
            (Serializable, ReadOnly) => {
                Self::fixed(4, "begin isolation level serializable read only")
            }
            (Serializable, ReadWrite) => {
                Self::fixed(5, "begin isolation level serializable read write")
            }
        }
    }

    /// Applies `count` settings.
    pub(crate) fn settings(count: usize) -> Self {
        Self {
            number: Some(FIRST_SETTINGS + count).filter(|number| *number < MAX),
            sql: statement_for(count),
        }
    }

    /// The same without a name.
    pub(super) fn unnamed(self) -> Self {
        let number = None;
        Self { number, ..self }
    }

    /// The prepared name; empty for the unnamed statement.
    pub(super) fn name(&self) -> &'static str {
        self.number.map_or("", |number| &NAMES[number])
    }
}

/// Which of them a connection has prepared.
#[derive(Default)]
pub(super) struct PreparedSet(u64);

impl PreparedSet {
    pub(super) fn contains(&self, common: &Common) -> bool {
        common
            .number
            .is_some_and(|number| self.0 >> number & 1 == 1)
    }

    /// Clears the set; returns the names.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = &'static str> + use<> {
        let known = std::mem::take(&mut self.0);
        let is_known = move |(number, _): &(usize, &String)| known >> number & 1 == 1;
        let names = NAMES.iter().enumerate().filter(is_known);
        names.map(|(_, name)| name.as_str())
    }

    pub(super) fn insert(&mut self, common: &Common) {
        self.0 |= common.number.map_or(0, |number| 1 << number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_prepared_is_known_by_its_name() {
        let mut known = PreparedSet::default();
        known.insert(&Common::COMMIT);
        known.insert(&Common::settings(47));
        known.insert(&Common::settings(48));
        assert!(known.contains(&Common::COMMIT) && !known.contains(&Common::ROLLBACK));
        assert!(known.contains(&Common::settings(47)) && !known.contains(&Common::settings(46)));
        assert_eq!(Common::settings(47).name(), "c63");
        assert!(!known.contains(&Common::settings(48)), "it has no name");
        assert_eq!(Common::settings(48).name(), "");
        assert_eq!(known.drain().collect::<Vec<_>>(), ["c6", "c63"]);
        assert!(!known.contains(&Common::COMMIT));
    }
}
