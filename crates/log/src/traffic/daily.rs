//! Requests of the last 24 hours of every project, in memory: for lists of projects.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{HOUR, Stats, files};
use crate::{Timestamp, segment::Layout};

const HOURS: i64 = 24;

/// A project's requests of the last 24 hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyTraffic {
    /// By hour, the current one last.
    pub requests: [u64; HOURS as usize],
    /// Responses with a status of 500 or more.
    pub errors: u64,
    /// When the latest request was, to the minute.
    pub latest: Timestamp,
}

/// The hours of all projects.
#[derive(Debug, Default)]
pub(crate) struct Daily(Mutex<HashMap<String, Project>>);

#[derive(Debug, Default)]
struct Project {
    /// Requests and errors by the number of the hour.
    hours: HashMap<i64, (u64, u64)>,
    latest: i64,
}

impl Daily {
    fn projects(&self) -> MutexGuard<'_, HashMap<String, Project>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, project: &str, start: i64, stats: &Stats) {
        let mut projects = self.projects();
        if !projects.contains_key(project) {
            projects.insert(project.to_owned(), Project::default());
        }
        if let Some(counts) = projects.get_mut(project) {
            let hour = start.div_euclid(HOUR);
            let (requests, errors) = counts.hours.entry(hour).or_default();
            *requests += stats.total();
            *errors += stats.classes[4];
            counts.latest = counts.latest.max(start);
            let oldest = counts.latest.div_euclid(HOUR) - HOURS;
            counts.hours.retain(|hour, _| *hour > oldest);
        }
    }

    /// Reads what an earlier process wrote. A file that cannot be read is left out.
    pub(crate) fn load(&self, layout: &Layout, now: Timestamp) {
        let today = now.as_micros().div_euclid(1_000_000 * super::DAY);
        for project in layout.projects().unwrap_or_default() {
            for line in files::read(layout, &project, today - 1..=today).unwrap_or_default() {
                self.add(&project, line.start, &line.stats());
            }
        }
    }

    pub(crate) fn read(&self, now: Timestamp) -> HashMap<String, DailyTraffic> {
        let current = now.as_micros().div_euclid(1_000_000 * HOUR);
        let projects = self.projects();
        let read = projects.iter().map(|(name, counts)| {
            let mut traffic = DailyTraffic {
                requests: [0; HOURS as usize],
                errors: 0,
                latest: Timestamp::from_micros(counts.latest * 1_000_000),
            };
            for (hour, (requests, errors)) in &counts.hours {
                let age = current - hour;
                if (0..HOURS).contains(&age) {
                    traffic.requests[(HOURS - 1 - age) as usize] += requests;
                    traffic.errors += errors;
                }
            }
            (name.clone(), traffic)
        });
        read.collect()
    }
}
