//! Counting, in the writer.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::Arc,
};

use super::{
    Daily, MINUTE, Stats, files,
    line::Line,
    route::{OTHER, route_of},
};
use crate::{AccessEntry, Timestamp, segment::Layout};

/// Routes of a project within a minute that are told apart; clients choose paths.
const MAX_ROUTES: usize = 200;
/// Of those, how many are written: the most frequent ones.
const MAX_WRITTEN: usize = 50;

/// What was counted since the last write.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    counts: HashMap<(Arc<str>, i64), Minute>,
}

#[derive(Debug, Default)]
struct Minute(BTreeMap<(&'static str, String), Stats>);

impl Collector {
    pub(crate) fn add(&mut self, entry: &AccessEntry) {
        let start = minute_of(entry.time);
        let minute = self.counts.entry((entry.project.clone(), start));
        minute.or_default().add(entry);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether a minute that was counted is over.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let current = minute_of(now);
        self.counts.keys().any(|(_, start)| *start != current)
    }

    /// Appends everything to the files. What cannot be written is lost, like log records.
    pub(crate) fn write(&mut self, layout: &Layout, daily: &Daily) -> io::Result<()> {
        let mut result = Ok(());
        let mut pages: HashMap<(Arc<str>, i64), Vec<u8>> = HashMap::new();
        for ((project, start), minute) in self.counts.drain() {
            daily.add(&project, start, &minute.total());
            let day = start.div_euclid(super::DAY);
            let page = pages.entry((project, day)).or_default();
            minute.into_lines(start, page);
        }
        for ((project, day), page) in pages {
            result = result.and(files::append_minutes(layout, &project, day, &page));
        }
        result
    }
}

fn minute_of(time: Timestamp) -> i64 {
    let seconds = time.as_micros().div_euclid(1_000_000);
    seconds - seconds.rem_euclid(MINUTE)
}

impl Minute {
    fn add(&mut self, entry: &AccessEntry) {
        let mut key = (entry.service, route_of(&entry.path));
        if self.0.len() >= MAX_ROUTES && !self.0.contains_key(&key) {
            key.1 = OTHER.to_owned();
        }
        let stats = self.0.entry(key).or_default();
        stats.add(entry.status, entry.bytes, entry.duration);
    }

    fn total(&self) -> Stats {
        let mut total = Stats::default();
        self.0.values().for_each(|stats| total.merge(stats));
        total
    }

    fn into_lines(self, start: i64, page: &mut Vec<u8>) {
        let mut routes: Vec<_> = self.0.into_iter().collect();
        routes.sort_by_key(|(_, stats)| std::cmp::Reverse(stats.total()));
        let mut others: BTreeMap<&'static str, Stats> = BTreeMap::new();
        for ((service, _), stats) in routes.iter().skip(MAX_WRITTEN) {
            others.entry(service).or_default().merge(stats);
        }
        for ((service, route), stats) in routes.iter().take(MAX_WRITTEN) {
            Line::new(start, service, route, stats).write(page);
        }
        for (service, stats) in others {
            Line::new(start, service, OTHER, &stats).write(page);
        }
    }
}
