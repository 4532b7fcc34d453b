//! The part of the platform that a record comes from.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::QueryError;

/// Which part of the platform a record comes from. Each has its own folder and retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Every HTTP request at the edge.
    Api,
    /// The auth service.
    Auth,
    /// The REST service.
    Rest,
    /// The PostgreSQL server.
    Postgres,
    /// The storage service.
    Storage,
    /// The realtime service.
    Realtime,
    /// Requests to users' functions and what these print.
    Functions,
    /// Background jobs.
    Jobs,
    /// The audit log.
    Audit,
}

impl Source {
    /// Every source, in the order the console shows them.
    pub const ALL: [Self; 9] = [
        Self::Api,
        Self::Auth,
        Self::Rest,
        Self::Postgres,
        Self::Storage,
        Self::Realtime,
        Self::Functions,
        Self::Jobs,
        Self::Audit,
    ];

    /// The name as written in files, folders and queries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Auth => "auth",
            Self::Rest => "rest",
            Self::Postgres => "postgres",
            Self::Storage => "storage",
            Self::Realtime => "realtime",
            Self::Functions => "functions",
            Self::Jobs => "jobs",
            Self::Audit => "audit",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Source {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        Self::ALL
            .into_iter()
            .find(|source| text.eq_ignore_ascii_case(source.as_str()))
            .ok_or_else(|| QueryError::UnknownSource(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for source in Source::ALL {
            assert_eq!(source.to_string().parse(), Ok(source));
            assert_eq!(serde_json::to_value(source).unwrap(), source.as_str());
        }
    }

    #[test]
    fn an_unknown_name_error_lists_what_exists() {
        let error = "kong".parse::<Source>().unwrap_err().to_string();

        assert!(error.starts_with("`kong` is not a log source; use one of api, auth, rest,"));
    }
}
