//! One line: the requests to one route within a minute, or an hour.

use serde::{Deserialize, Serialize};

use super::Stats;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    /// Where the time begins, in seconds since 1970.
    #[serde(rename = "t")]
    pub(super) start: i64,
    #[serde(rename = "s")]
    pub(super) service: String,
    #[serde(rename = "r")]
    pub(super) route: String,
    #[serde(rename = "c")]
    classes: [u64; 5],
    #[serde(rename = "b")]
    bytes: u64,
    #[serde(rename = "d")]
    durations: Vec<(u8, u64)>,
}

impl Line {
    pub(super) fn new(start: i64, service: &str, route: &str, stats: &Stats) -> Self {
        Self {
            start,
            service: service.to_owned(),
            route: route.to_owned(),
            classes: stats.classes,
            bytes: stats.bytes,
            durations: stats
                .durations
                .iter()
                .map(|(at, count)| (*at, *count))
                .collect(),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            classes: self.classes,
            bytes: self.bytes,
            durations: self.durations.iter().copied().collect(),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(&mut *out, self)
            .expect("numbers and texts, and writing to memory cannot fail");
        out.push(b'\n');
    }

    /// The lines of a file; those torn by a crash are skipped.
    pub(super) fn read_all(content: &[u8]) -> impl Iterator<Item = Self> {
        let lines = content.split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok())
    }
}
