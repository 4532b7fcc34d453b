//! Retention: what is deleted when, and what never is.

mod support;

use std::{fs, time::Duration};

use plinth_log::{Config, LogStore, Query, Retention, RetentionPolicy, Source};
use support::{TestStore, at, record};

const DAY: Duration = Duration::from_secs(86_400);

fn keep_bytes(max_bytes: u64) -> RetentionPolicy {
    RetentionPolicy::uniform(Retention {
        max_bytes,
        ..Retention::default()
    })
}

fn keep_for(max_age: Duration) -> RetentionPolicy {
    RetentionPolicy::uniform(Retention {
        max_age,
        ..Retention::default()
    })
}

#[tokio::test]
async fn the_oldest_segments_are_removed_for_new_ones() {
    let config = Config {
        segment_bytes: 1000,
        retention: keep_bytes(3000),
        ..Config::default()
    };
    let test = TestStore::start(config);

    for n in 0..100 {
        test.store.write(record(format!("record {n:02}")).at(at(n)));
        test.store
            .write(record("elsewhere").project("other").at(at(n)));
    }
    test.store.close().await;

    let bytes: u64 = test
        .segments("api")
        .iter()
        .map(|p| fs::metadata(p).unwrap().len())
        .sum();
    assert!((1000..=3000).contains(&bytes), "{bytes}");
    let left = test.messages(&Query::project("shop"));
    let newest: Vec<_> = (0..100).rev().map(|n| format!("record {n:02}")).collect();
    assert!(left.len() > 10);
    assert_eq!(
        left,
        newest[..left.len()],
        "the newest are kept, without a gap"
    );
    assert!(
        test.messages(&Query::project("other")).len() > 10,
        "each stream has its own room"
    );
    let usage = test.store.usage(&Query::all()).unwrap();
    let total: u64 = usage.iter().map(|usage| usage.bytes).sum();
    assert_eq!(test.store.status().bytes_on_disk, total);
}

#[tokio::test]
async fn the_active_segment_is_never_deleted() {
    let config = Config {
        segment_bytes: 100_000,
        retention: keep_bytes(1),
        ..Config::default()
    };
    let test = TestStore::start(config);

    test.store.write(record("one"));
    test.store.flush().await;
    test.store.set_retention(keep_for(Duration::ZERO));
    test.store.flush().await;
    test.store.write(record("two"));
    test.store.close().await;

    assert_eq!(test.messages(&Query::all()).len(), 2);
}

#[tokio::test]
async fn segments_older_than_the_limit_go() {
    let test = TestStore::start(Config {
        retention: keep_for(2 * DAY),
        ..Config::default()
    });
    for day in 0..5 {
        test.store
            .write(record(format!("day {day}")).at(test.clock.now()));
        test.store.flush().await;
        test.clock.advance(DAY);
    }

    test.store.set_retention(keep_for(2 * DAY));
    test.store.flush().await;

    // It is day 5 at the hour at which all were written.
    assert_eq!(test.messages(&Query::all()), ["day 4", "day 3"]);
    assert_eq!(test.segments("api").len(), 2);
}

#[tokio::test]
async fn within_the_day_of_the_limit_the_records_decide() {
    let test = TestStore::start(Config::default());
    test.store.write(record("morning").at(at(0)));
    test.store.flush().await;
    test.clock.advance(DAY + Duration::from_secs(3600));

    test.store
        .set_retention(keep_for(DAY + Duration::from_secs(3601)));
    test.store.flush().await;
    assert_eq!(test.messages(&Query::all()), ["morning"]);

    test.store
        .set_retention(keep_for(DAY + Duration::from_secs(3599)));
    test.store.flush().await;
    assert_eq!(test.segments("api").len(), 0);
    assert!(!test.path().join("shop").exists(), "empty folders go too");
    assert_eq!(test.store.status().bytes_on_disk, 0);
}

#[tokio::test]
async fn sources_may_have_rules_of_their_own() {
    let mut retention = keep_for(DAY);
    retention.by_source.insert(
        Source::Audit,
        Retention {
            max_age: 365 * DAY,
            ..Retention::default()
        },
    );
    let test = TestStore::start(Config {
        retention: retention.clone(),
        ..Config::default()
    });
    let mut audit = record("who did what").at(at(0));
    audit.source = Source::Audit;
    test.store.write(audit);
    test.store.write(record("request").at(at(0)));
    test.store.flush().await;

    test.clock.advance(30 * DAY);
    test.store.set_retention(retention);
    test.store.flush().await;

    assert_eq!(test.messages(&Query::all()), ["who did what"]);
}

#[tokio::test]
async fn a_start_applies_retention_to_what_earlier_runs_left() {
    let test = TestStore::start(Config::default());
    test.store.write(record("old").at(at(0)));
    test.store.close().await;
    test.clock.advance(30 * DAY);

    let config = Config {
        clock: test.clock.clock(),
        ..Config::default()
    };
    let (store, writer) = LogStore::open(test.path(), config).unwrap();
    writer.start().unwrap();
    store.close().await;

    assert_eq!(test.segments("api").len(), 0);
}

#[tokio::test]
async fn what_a_wrong_clock_dated_ahead_does_not_push_out_the_rest() {
    let config = Config {
        segment_bytes: 1000,
        retention: keep_bytes(3000),
        ..Config::default()
    };
    let test = TestStore::start(config);
    test.clock.advance(3650 * DAY);
    test.store.write(record("dated ahead").at(test.clock.now()));
    test.store.flush().await;
    test.clock.set_back(3650 * DAY);

    for n in 0..60 {
        test.store.write(record(format!("record {n:02}")).at(at(n)));
    }
    test.store.close().await;

    let left = test.messages(&Query::all());
    assert!(left.len() > 10, "{left:?}");
    assert_eq!(left[0], "record 59");
}
