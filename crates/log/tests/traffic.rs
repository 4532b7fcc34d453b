//! Counts of requests: what is counted where, what a restart and the passing of days leave.

mod support;

use std::time::Duration;

use plinth_log::{AccessEntry, Config, LogStore, Query, TrafficBy, TrafficQuery, TrafficSeries};
use support::{TestStore, access_entry, at};

const MINUTE: i64 = 60_000_000;
const DAY: Duration = Duration::from_secs(86_400);

fn entry(path: &str, status: u16, minute: i64) -> Box<AccessEntry> {
    Box::new(AccessEntry {
        time: at(minute * MINUTE),
        status,
        ..*access_entry(path)
    })
}

fn query(by: TrafficBy, minutes: i64) -> TrafficQuery {
    TrafficQuery {
        projects: vec!["shop".to_owned()],
        since: at(-2 * 86_400 * 1_000_000),
        until: at(minutes * MINUTE),
        step: 3600,
        by,
        service: None,
        limit: 20,
    }
}

fn read(store: &LogStore, query: &TrafficQuery) -> Vec<TrafficSeries> {
    store.traffic(query).expect("read")
}

fn totals(series: &[TrafficSeries]) -> Vec<(&str, u64)> {
    let series = series.iter();
    series
        .map(|it| (it.key.as_str(), it.total.total()))
        .collect()
}

#[tokio::test]
async fn requests_are_counted_by_minute_service_and_route() {
    let test = TestStore::start(Config::default());
    for minute in 0..3 {
        test.store
            .write_access(entry("/rest/v1/orders?id=eq.1", 200, minute));
        test.store
            .write_access(entry("/rest/v1/orders", 503, minute));
    }
    test.store.write_access(entry("/rest/v1/users", 404, 1));
    test.store.write_access(Box::new(AccessEntry {
        service: "auth",
        ..*entry("/auth/v1/token", 200, 1)
    }));
    test.store.write_access(Box::new(AccessEntry {
        project: "other".into(),
        ..*entry("/rest/v1/orders", 200, 1)
    }));
    test.store.flush().await;

    let by_minute = TrafficQuery {
        step: 60,
        since: at(0),
        ..query(TrafficBy::Nothing, 10)
    };
    let all = read(&test.store, &by_minute);
    let by_service = read(&test.store, &query(TrafficBy::Service, 10));
    let by_route = read(&test.store, &query(TrafficBy::Route, 10));
    let of_auth = TrafficQuery {
        service: Some("auth".to_owned()),
        ..query(TrafficBy::Route, 10)
    };

    let minutes: Vec<u64> = all[0].points.values().map(|stats| stats.total()).collect();
    assert_eq!(minutes, [2, 4, 2]);
    assert_eq!(all[0].total.classes, [0, 4, 0, 1, 3]);
    assert_eq!(all[0].total.bytes, 8 * 17);
    let p50 = all[0].total.quantile(0.5).expect("durations");
    assert!((1.0..1.5).contains(&p50), "{p50}");
    assert_eq!(totals(&by_service), [("rest", 7), ("auth", 1)]);
    let orders = ("/rest/v1/orders", 6);
    assert_eq!(totals(&by_route)[0], orders);
    assert_eq!(by_route.len(), 3);
    assert_eq!(
        totals(&read(&test.store, &of_auth)),
        [("/auth/v1/token", 1)]
    );
    let daily = test.store.daily_traffic();
    assert_eq!(daily["shop"].requests[23], 8);
    assert_eq!((daily["shop"].errors, daily["other"].errors), (3, 0));
}

#[tokio::test]
async fn a_tail_changes_no_count() {
    let test = TestStore::start(Config::default());
    let mut tail = test.store.tail(Query::all());

    test.store.write_access(entry("/rest/v1/orders", 200, 0));
    test.store.flush().await;

    assert!(tail.recv().await.is_some());
    assert_eq!(
        totals(&read(&test.store, &query(TrafficBy::Nothing, 1))),
        [("", 1)]
    );
    assert_eq!(test.messages(&Query::all()).len(), 1);
}

#[tokio::test]
async fn counts_survive_a_restart() {
    let test = TestStore::start(Config::default());
    test.store.write_access(entry("/rest/v1/orders", 200, 0));
    test.store.close().await;

    let config = Config {
        clock: test.clock.clock(),
        ..Config::default()
    };
    let (again, writer) = LogStore::open(test.path(), config).expect("a store");
    writer.start().expect("a thread");
    again.write_access(entry("/rest/v1/orders", 200, 0));
    again.flush().await;

    let by_minute = TrafficQuery {
        step: 60,
        since: at(0),
        ..query(TrafficBy::Nothing, 1)
    };
    assert_eq!(totals(&read(&again, &by_minute)), [("", 2)]);
    assert_eq!(read(&again, &by_minute)[0].points.len(), 1);
    assert_eq!(again.daily_traffic()["shop"].requests[23], 2);
}

#[tokio::test]
async fn old_minutes_become_hours_and_very_old_ones_go() {
    let test = TestStore::start(Config::default());
    for minute in 0..3 {
        test.store
            .write_access(entry("/rest/v1/orders", 200, minute));
    }
    test.store.flush().await;
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(test.path().join("shop/traffic"));
        let entries = entries
            .map(|it| it.flatten().collect())
            .unwrap_or_else(|_| Vec::new());
        let names = entries.iter();
        names
            .map(|it| it.file_name().into_string().unwrap_or_default())
            .collect()
    };
    let kinds = || -> Vec<String> {
        let names = names().into_iter();
        names
            .filter_map(|it| Some(it.split_once('.')?.1.to_owned()))
            .collect()
    };
    assert_eq!(kinds(), ["minutes.ndjson"]);

    test.clock.advance(3 * DAY);
    test.store.set_retention(test.store.retention());
    test.store.flush().await;
    assert_eq!(kinds(), ["hours.ndjson"]);
    let kept = read(&test.store, &query(TrafficBy::Nothing, 10));
    assert_eq!(totals(&kept), [("", 3)]);
    assert_eq!(kept[0].points.len(), 1);

    test.clock.advance(100 * DAY);
    test.store.set_retention(test.store.retention());
    test.store.flush().await;
    assert!(names().is_empty(), "{:?}", names());
}

#[tokio::test]
async fn clients_cannot_make_endless_routes() {
    let test = TestStore::start(Config::default());
    for number in 0..1000 {
        let path = format!("/rest/v1/table{number}x");
        test.store.write_access(entry(&path, 404, 0));
    }
    test.store.flush().await;

    let limit = TrafficQuery {
        limit: 10_000,
        ..query(TrafficBy::Route, 1)
    };
    let routes = read(&test.store, &limit);

    assert!(routes.len() <= 51, "{}", routes.len());
    assert_eq!(routes.iter().map(|it| it.total.total()).sum::<u64>(), 1000);
    assert_eq!(routes[0].key, "other");
}

#[tokio::test]
async fn bad_ranges_are_rejected_and_torn_lines_skipped() {
    let test = TestStore::start(Config::default());
    test.store.write_access(entry("/rest/v1/orders", 200, 0));
    test.store.flush().await;
    let folder = test.path().join("shop/traffic");
    for file in std::fs::read_dir(&folder).expect("a folder").flatten() {
        let mut text = std::fs::read_to_string(file.path()).expect("text");
        text.push_str("{\"t\":1785578400,\"s\":\"re");
        std::fs::write(file.path(), text).expect("written");
    }
    std::fs::write(folder.join("notes.txt"), "x").expect("written");

    assert_eq!(
        totals(&read(&test.store, &query(TrafficBy::Nothing, 1))),
        [("", 1)]
    );
    for wrong in [
        TrafficQuery {
            step: 0,
            ..query(TrafficBy::Nothing, 1)
        },
        TrafficQuery {
            step: 90,
            ..query(TrafficBy::Nothing, 1)
        },
        TrafficQuery {
            step: 60,
            ..query(TrafficBy::Nothing, 1)
        },
        TrafficQuery {
            until: at(-3 * 86_400_000_000),
            ..query(TrafficBy::Nothing, 1)
        },
    ] {
        assert!(test.store.traffic(&wrong).is_err(), "{wrong:?}");
    }
    let elsewhere = TrafficQuery {
        projects: vec!["../shop".to_owned(), "none".to_owned()],
        ..query(TrafficBy::Nothing, 1)
    };
    assert!(read(&test.store, &elsewhere).is_empty());
}
