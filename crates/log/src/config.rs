//! Sizes, times and retention of a log store.

use std::{collections::BTreeMap, time::Duration};

use crate::{Clock, OpenError, Source, is_valid_project};

/// Sizes and times of a log store. The defaults suit a laptop and a small server.
#[derive(Debug, Clone)]
pub struct Config {
    /// How many records may wait for the writer, at most a million. Default 8192.
    pub queue_records: usize,
    /// How many bytes of texts may wait for the writer. Default 32 MiB.
    pub queue_bytes: usize,
    /// A segment is closed before it would exceed this size. Default 4 MiB.
    pub segment_bytes: u64,
    /// How long and how much of each source is kept; may be changed later.
    pub retention: RetentionPolicy,
    /// How many records a slow tail may lag behind before it loses some, at most a
    /// million. Default 2048.
    pub tail_records: usize,
    /// How long the writer collects records into a batch before it takes more from the queue, so that
    /// a busy server does not wake it for each one. Default 10 ms.
    pub batch_delay: Duration,
    /// Delay before the next attempt to write a stream after an I/O error. Default 1 s.
    pub retry_after: Duration,
    /// How often retention runs when nothing else causes it, at least 1 s. Default 10 min.
    pub maintenance_interval: Duration,
    /// The project of records that name none, and of the store's own records.
    /// Default `platform`.
    pub own_project: String,
    /// Names segments, ends days, ages records out.
    pub clock: Clock,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            queue_records: 8192,
            queue_bytes: 32 << 20,
            segment_bytes: 4 << 20,
            retention: RetentionPolicy::default(),
            tail_records: 2048,
            batch_delay: Duration::from_millis(10),
            retry_after: Duration::from_secs(1),
            maintenance_interval: Duration::from_secs(600),
            own_project: "platform".to_owned(),
            clock: Clock::default(),
        }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        if !is_valid_project(&self.own_project) {
            return Err(OpenError::InvalidProject(self.own_project.clone()));
        }
        let sizes = [
            ("queue_records", self.queue_records == 0),
            ("queue_bytes", self.queue_bytes == 0),
            ("segment_bytes", self.segment_bytes == 0),
            ("tail_records", self.tail_records == 0),
        ];
        match sizes.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((name, _)) => Err(OpenError::ZeroSize(name)),
            None => Ok(()),
        }
    }
}

/// How long and how much is kept in one source of one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Segments whose newest record is older are deleted. Default 7 days.
    pub max_age: Duration,
    /// The oldest segments are deleted so that the source stays below this. Default 128 MiB.
    pub max_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(7 * 86_400),
            max_bytes: 128 << 20,
        }
    }
}

/// Retention for every source: one rule, and exceptions from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetentionPolicy {
    /// The rule for all other sources.
    pub default: Retention,
    /// Sources with a rule of their own.
    pub by_source: BTreeMap<Source, Retention>,
}

impl RetentionPolicy {
    /// The same rule for every source.
    pub fn uniform(retention: Retention) -> Self {
        Self {
            default: retention,
            by_source: BTreeMap::new(),
        }
    }

    /// The rule that holds for `source`.
    pub fn of(&self, source: Source) -> Retention {
        self.by_source.get(&source).copied().unwrap_or(self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_project_must_be_able_to_name_a_folder() {
        let config = Config {
            own_project: "../up".to_owned(),
            ..Config::default()
        };

        assert!(matches!(config.check(), Err(OpenError::InvalidProject(name)) if name == "../up"));
    }

    #[test]
    fn sizes_of_zero_are_named() {
        let config = Config {
            segment_bytes: 0,
            ..Config::default()
        };

        let error = config.check().unwrap_err();

        assert_eq!(
            error.to_string(),
            "the log setting `segment_bytes` must be greater than zero"
        );
    }

    #[test]
    fn a_source_with_a_rule_of_its_own_ignores_the_default() {
        let mut policy = RetentionPolicy::default();
        let short = Retention {
            max_age: Duration::from_secs(60),
            max_bytes: 1,
        };
        policy.by_source.insert(Source::Api, short);

        assert_eq!(policy.of(Source::Api), short);
        assert_eq!(policy.of(Source::Audit), Retention::default());
    }
}
