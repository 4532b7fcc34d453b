//! Severity of a record.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::QueryError;

/// Severity, in ascending order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Very detailed.
    Trace,
    /// For debugging.
    Debug,
    /// Normal operation.
    #[default]
    Info,
    /// Needs attention, not urgent.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    /// Every level, the least severe first.
    pub const ALL: [Self; 5] = [
        Self::Trace,
        Self::Debug,
        Self::Info,
        Self::Warn,
        Self::Error,
    ];

    /// The name as written in files and queries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Level {
    type Err = QueryError;

    /// Upper or lower case; `warning` is understood as `warn`.
    fn from_str(text: &str) -> Result<Self, QueryError> {
        if text.eq_ignore_ascii_case("warning") {
            return Ok(Self::Warn);
        }
        Self::ALL
            .into_iter()
            .find(|level| text.eq_ignore_ascii_case(level.as_str()))
            .ok_or_else(|| QueryError::UnknownLevel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_in_any_case() {
        for level in Level::ALL {
            assert_eq!(level.to_string().to_uppercase().parse(), Ok(level));
        }
        assert_eq!("Warning".parse(), Ok(Level::Warn));
    }

    #[test]
    fn an_unknown_name_error_lists_what_exists() {
        let error = "fatal".parse::<Level>().unwrap_err();

        assert_eq!(
            error.to_string(),
            "`fatal` is not a log level; use one of trace, debug, info, warn, error"
        );
    }

    #[test]
    fn error_is_the_highest() {
        assert!(Level::ALL.is_sorted());
        assert_eq!(Level::ALL.into_iter().max(), Some(Level::Error));
    }
}
