//! Finding records again: terms, pages, histogram.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop here"
)]

mod support;

use std::{fs, time::Duration};

use plinth_log::{
    Config, Cursor, Level, Query, QueryError, Record, Scope, SearchError, Source, Timestamp,
};
use support::{TestStore, at, record};

/// Requests of two projects and some errors, written in this order.
async fn sample() -> TestStore {
    let test = TestStore::start(Config::default());
    let request = |n: i64, path: &str, status: u16| {
        let level = if status >= 500 {
            Level::Error
        } else {
            Level::Info
        };
        Record::new(Source::Api, level, format!("GET {path} {status}"))
            .project("shop")
            .at(at(n))
            .request_id(format!("r{n}"))
            .field("path", path)
            .field("status", status)
    };
    test.store.write(request(1, "/rest/v1/orders", 200));
    test.store
        .write(request(2, "/rest/v1/orders", 503).field("error", "Statement TIMEOUT"));
    test.store.write(request(3, "/auth/v1/token", 500));
    let auth = Record::new(Source::Auth, Level::Warn, "sign-in failed").request_id("r3");
    test.store
        .write(auth.project("shop").at(at(4)).field("user.id", "u1"));
    test.store
        .write(request(5, "/rest/v1/items", 404).project("blog"));
    test.store.close().await;
    test
}

fn find(test: &TestStore, terms: &str) -> Vec<i64> {
    let query = Query {
        terms: Query::parse_terms(terms).unwrap(),
        ..Query::all()
    };
    times(test, &query)
}

fn times(test: &TestStore, query: &Query) -> Vec<i64> {
    let records = test.store.search(query).unwrap().records;
    records
        .iter()
        .map(|record| record.time.as_micros() - at(0).as_micros())
        .collect()
}

#[tokio::test]
async fn terms_find_what_they_say_newest_first() {
    let test = sample().await;

    assert_eq!(find(&test, ""), [5, 4, 3, 2, 1]);
    assert_eq!(find(&test, "status:5xx"), [3, 2]);
    assert_eq!(find(&test, "status:5xx path:/rest/v1/* timeout"), [2]);
    assert_eq!(find(&test, "-status:5xx -source:auth"), [5, 1]);
    assert_eq!(find(&test, "request_id:r3"), [4, 3], "across sources");
    assert_eq!(find(&test, "level:error"), [3, 2]);
    assert_eq!(find(&test, "user:u1"), [4]);
    assert_eq!(find(&test, "\"sign-in failed\""), [4]);
    assert_eq!(find(&test, "project:blog"), [5]);
    assert!(find(&test, "nowhere").is_empty());
}

#[tokio::test]
async fn scope_sources_level_and_time_narrow_the_search() {
    let test = sample().await;
    let shop = || Query::project("shop");

    assert_eq!(times(&test, &shop()), [4, 3, 2, 1]);
    assert_eq!(
        times(
            &test,
            &Query {
                sources: vec![Source::Auth],
                ..shop()
            }
        ),
        [4]
    );
    assert_eq!(
        times(
            &test,
            &Query {
                level: Some(Level::Warn),
                ..shop()
            }
        ),
        [4, 3, 2]
    );
    let between = Query {
        since: Some(at(2)),
        until: Some(at(4)),
        ..shop()
    };
    assert_eq!(times(&test, &between), [3, 2]);
    assert!(times(&test, &Query::new(Scope::Projects(Vec::new()))).is_empty());
    assert!(times(&test, &Query::project("unknown")).is_empty());
}

#[tokio::test]
async fn bad_queries_are_rejected_with_a_reason() {
    let test = sample().await;
    let error = |query: Query| match test.store.search(&query) {
        Err(SearchError::Query(error)) => error,
        other => panic!("{other:?}"),
    };

    assert_eq!(
        error(Query {
            limit: 1001,
            ..Query::all()
        }),
        QueryError::Limit(1001)
    );
    let outside = QueryError::InvalidProject("../shop".to_owned());
    assert_eq!(error(Query::project("../shop")), outside);
}

/// Goes through all pages and checks that each but the last is full.
fn all_pages(test: &TestStore, query: &Query) -> Vec<Record> {
    let mut records = Vec::new();
    let mut query = query.clone();
    loop {
        let page = test.store.search(&query).unwrap();
        records.extend(page.records);
        let Some(next) = page.next else {
            return records;
        };
        assert_eq!(
            records.len() % query.limit,
            0,
            "only the last page may be short"
        );
        // As a client would: printed and read back.
        query.cursor = Some(next.to_string().parse::<Cursor>().unwrap());
    }
}

#[tokio::test]
async fn pages_neither_repeat_nor_skip_across_segments_sources_and_equal_times() {
    let test = TestStore::start(Config {
        segment_bytes: 2000,
        ..Config::default()
    });
    for n in 0..500_i64 {
        // Ten records share each time; some arrive late; a third goes to each source.
        let late = if n % 7 == 0 { 5 } else { 0 };
        let mut record = record(format!("{n}")).at(at(n / 10 - late));
        record.source = [Source::Api, Source::Rest, Source::Jobs][n as usize % 3];
        test.store
            .write(record.project(["shop", "blog"][n as usize % 2]));
    }
    test.store.close().await;
    assert!(test.segments("api").len() > 3);

    let whole = test
        .store
        .search(&Query {
            limit: 1000,
            ..Query::all()
        })
        .unwrap();
    assert_eq!((whole.records.len(), &whole.next), (500, &None));
    assert!(whole.records.is_sorted_by(|a, b| a.time >= b.time));
    for limit in [1, 7, 100, 250, 499, 500] {
        let paged = all_pages(
            &test,
            &Query {
                limit,
                ..Query::all()
            },
        );
        assert_eq!(paged, whole.records, "in pages of {limit}");
    }
    let terms = Query::parse_terms("message:*3* source:rest").unwrap();
    let some = |limit| Query {
        limit,
        terms: terms.clone(),
        ..Query::project("shop")
    };
    let expected = test.store.search(&some(1000)).unwrap().records;
    assert!(expected.len() > 20);
    assert_eq!(all_pages(&test, &some(3)), expected);
}

#[tokio::test]
async fn records_written_while_paging_do_not_disturb_it() {
    let test = TestStore::start(Config::default());
    for n in 0..10 {
        test.store.write(record(format!("{n}")).at(at(n)));
    }
    test.store.flush().await;

    let query = Query {
        limit: 5,
        ..Query::all()
    };
    let first = test.store.search(&query).unwrap();
    test.store.write(record("new").at(at(100)));
    test.store.close().await;
    let second = Query {
        cursor: first.next,
        ..query
    };

    assert_eq!(test.messages(&second), ["4", "3", "2", "1", "0"]);
}

#[tokio::test]
async fn a_clock_that_jumps_hides_nothing() {
    let test = TestStore::start(Config {
        segment_bytes: 500,
        ..Config::default()
    });
    let hour = 3_600_000_000;
    for n in 0..20 {
        let jump = if (5..10).contains(&n) { hour } else { 0 };
        test.store.write(record(format!("{n}")).at(at(n + jump)));
    }
    test.store.write(record("far future").at(Timestamp::MAX));
    test.store.close().await;

    let since = Query {
        since: Some(at(hour)),
        until: Some(at(2 * hour)),
        ..Query::all()
    };
    assert_eq!(test.messages(&since), ["9", "8", "7", "6", "5"]);
    let all = all_pages(
        &test,
        &Query {
            limit: 4,
            ..Query::all()
        },
    );
    assert_eq!(all.len(), 21);
    assert_eq!(all[0].message, "far future");
    assert!(all.is_sorted_by(|a, b| a.time >= b.time));
}

#[tokio::test]
async fn segments_deleted_under_a_cursor_leave_the_rest_readable() {
    let test = TestStore::start(Config {
        segment_bytes: 1000,
        ..Config::default()
    });
    for n in 0..40 {
        test.store.write(record(format!("{n}")).at(at(n)));
    }
    test.store.close().await;
    let first = test
        .store
        .search(&Query {
            limit: 2,
            ..Query::all()
        })
        .unwrap();

    fs::remove_file(test.segments("api").pop().unwrap()).unwrap();
    let rest = test.store.search(&Query {
        cursor: first.next,
        limit: 1000,
        ..Query::all()
    });

    let rest = rest.unwrap().records;
    assert!(rest.len() > 20);
    assert_eq!(rest.last().unwrap().message, "0");
}

#[tokio::test]
async fn the_histogram_counts_by_level_and_time() {
    let test = sample().await;

    let query = Query {
        since: Some(at(0)),
        until: Some(at(6)),
        ..Query::all()
    };
    let histogram = test.store.histogram(&query, 3).unwrap();

    assert_eq!(histogram.width, Duration::from_micros(2));
    let starts: Vec<_> = histogram
        .buckets
        .iter()
        .map(|bucket| bucket.start)
        .collect();
    assert_eq!(starts, [at(0), at(2), at(4)]);
    let count = |n: usize, level| histogram.buckets[n].count(level);
    assert_eq!((count(0, Level::Info), count(0, Level::Error)), (1, 0));
    assert_eq!((count(1, Level::Info), count(1, Level::Error)), (0, 2));
    assert_eq!((count(2, Level::Info), count(2, Level::Warn)), (1, 1));
    assert_eq!(
        histogram
            .buckets
            .iter()
            .map(|bucket| bucket.total())
            .sum::<u64>(),
        5
    );
}

#[tokio::test]
async fn a_histogram_without_a_range_covers_everything_there_is() {
    let test = sample().await;
    let terms = Query::parse_terms("status:5xx").unwrap();

    let histogram = test
        .store
        .histogram(
            &Query {
                terms,
                ..Query::all()
            },
            10,
        )
        .unwrap();
    let empty = test.store.histogram(&Query::project("unknown"), 4).unwrap();

    assert_eq!(histogram.since, at(1));
    assert_eq!(
        histogram
            .buckets
            .iter()
            .map(|bucket| bucket.total())
            .sum::<u64>(),
        2
    );
    assert_eq!(empty.buckets.len(), 4);
    assert_eq!(empty.width, Duration::from_secs(900));
}

#[tokio::test]
async fn impossible_histograms_are_rejected() {
    let test = sample().await;
    let backwards = Query {
        since: Some(at(5)),
        until: Some(at(5)),
        ..Query::all()
    };

    for (query, buckets, expected) in [
        (Query::all(), 0, QueryError::Buckets(0)),
        (Query::all(), 1001, QueryError::Buckets(1001)),
        (backwards, 1, QueryError::EmptyRange),
    ] {
        let error = test.store.histogram(&query, buckets).unwrap_err();
        assert!(matches!(error, SearchError::Query(error) if error == expected));
    }
}

#[tokio::test]
async fn usage_lists_the_bytes_of_each_source() {
    let test = sample().await;

    let usage = test.store.usage(&Query::project("shop")).unwrap();

    let [api, auth] = &usage[..] else {
        panic!("{usage:?}")
    };
    assert_eq!(
        (api.source, api.segments, api.oldest),
        (Source::Api, 1, Some(at(1)))
    );
    assert_eq!(
        api.bytes,
        fs::metadata(&test.segments("api")[0]).unwrap().len()
    );
    assert_eq!((auth.source, auth.oldest), (Source::Auth, Some(at(4))));
}

#[tokio::test]
async fn the_context_of_a_record_is_what_stands_beside_it() {
    let config = Config {
        segment_bytes: 500,
        ..Config::default()
    };
    let test = TestStore::start(config);
    for n in 0..20 {
        // Two of each microsecond, so that the time alone decides nothing.
        test.store
            .write(record(format!("record {n:02}")).at(at(n / 2)));
    }
    test.store.flush().await;
    let query = |limit| Query {
        limit,
        ..Query::project("shop")
    };
    let all = test.store.search(&query(20)).unwrap();
    assert_eq!(all.records.len(), 20);
    let messages = |page: &plinth_log::Page| -> Vec<String> {
        page.records
            .iter()
            .map(|record| record.message.clone())
            .collect()
    };
    let all_messages = messages(&all);

    for (index, position) in all.positions.iter().enumerate() {
        let newer = test.store.search_newer(&query(3), position).unwrap();
        let older = Query {
            cursor: Some(position.clone()),
            ..query(3)
        };
        let older = test.store.search(&older).unwrap();

        assert_eq!(
            messages(&newer),
            all_messages[index.saturating_sub(3)..index]
        );
        assert_eq!(
            messages(&older),
            all_messages[index + 1..(index + 4).min(20)]
        );
        assert_eq!(
            newer.positions,
            all.positions[index.saturating_sub(3)..index]
        );
    }
}
