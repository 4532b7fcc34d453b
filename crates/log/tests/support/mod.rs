//! A store in a folder of its own, with a clock that tests can move.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop here"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    time::Duration,
};

use plinth_log::{
    AccessEntry, Clock, Config, Level, LogStore, LogWriter, Query, Record, Source, Timestamp,
};
use tempfile::TempDir;

/// 2026-08-01T10:00:00Z.
pub(crate) const TEN_O_CLOCK: i64 = 1_785_578_400_000_000;

pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(TEN_O_CLOCK + micros)
}

pub(crate) fn record(message: impl Into<String>) -> Record {
    Record::new(Source::Api, Level::Info, message).project("shop")
}

pub(crate) fn access_entry(path: &str) -> Box<AccessEntry> {
    Box::new(AccessEntry {
        time: at(0),
        project: "shop".into(),
        request_id: "r1".into(),
        method: "GET".parse().unwrap(),
        path: path.into(),
        status: 200,
        duration: Duration::from_micros(1250),
        bytes: 17,
        service: "rest",
        client: [127, 0, 0, 1].into(),
        host: "localhost".to_owned(),
        user_agent: Some(b"node"[..].into()),
        error: None,
        role: Some("anon".into()),
        user_id: None,
    })
}

pub(crate) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(TEN_O_CLOCK)))
    }

    pub(crate) fn clock(&self) -> Clock {
        let micros = Arc::clone(&self.0);
        Clock::new(move || Timestamp::from_micros(micros.load(SeqCst)))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(SeqCst))
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.0.fetch_add(duration.as_micros() as i64, SeqCst);
    }

    pub(crate) fn set_back(&self, duration: Duration) {
        self.0.fetch_sub(duration.as_micros() as i64, SeqCst);
    }
}

pub(crate) struct TestStore {
    pub(crate) store: LogStore,
    pub(crate) clock: TestClock,
    pub(crate) dir: TempDir,
}

impl TestStore {
    pub(crate) fn start(config: Config) -> Self {
        let (test, writer) = Self::paused(config);
        writer.start().unwrap();
        test
    }

    pub(crate) fn paused(config: Config) -> (Self, LogWriter) {
        let clock = TestClock::new();
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            clock: clock.clock(),
            ..config
        };
        let (store, writer) = LogStore::open(dir.path(), config).unwrap();
        (Self { store, clock, dir }, writer)
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The segments of a source of the project `shop`, by name.
    pub(crate) fn segments(&self, source: &str) -> Vec<PathBuf> {
        segments_in(&self.path().join("shop").join(source))
    }

    pub(crate) fn messages(&self, query: &Query) -> Vec<String> {
        messages(&self.store, query)
    }
}

pub(crate) fn segments_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

pub(crate) fn messages(store: &LogStore, query: &Query) -> Vec<String> {
    let page = store.search(query).unwrap();
    page.records
        .into_iter()
        .map(|record| record.message)
        .collect()
}
