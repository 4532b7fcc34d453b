//! The live tail: what it delivers, what it loses, how it ends.

mod support;

use plinth_log::{Config, Query, Record, Source, TailItem, TailReceiver};
use support::{TestStore, access_entry, record};

async fn next_message(tail: &mut TailReceiver) -> String {
    match tail.recv().await {
        Some(TailItem::Record(record)) => record.message,
        other => panic!("a record was expected, not {other:?}"),
    }
}

#[tokio::test]
async fn records_arrive_before_they_are_written() {
    let (test, _paused) = TestStore::paused(Config::default());
    let mut tail = test.store.tail(Query::all());

    test.store.write(record("one"));
    test.store.write(record("two"));

    assert_eq!(next_message(&mut tail).await, "one");
    assert_eq!(next_message(&mut tail).await, "two");
    assert_eq!(test.store.status().written, 0);
}

#[tokio::test]
async fn access_entries_arrive_as_records_and_are_written_too() {
    let test = TestStore::start(Config::default());
    let mut tail = test.store.tail(Query {
        terms: Query::parse_terms("status:2xx").unwrap(),
        ..Query::project("shop")
    });

    let entry = access_entry("/rest/v1/items?apikey=hunter2");
    test.store.write_access(entry.clone());

    let Some(TailItem::Record(record)) = tail.recv().await else {
        panic!("a record was expected")
    };
    assert_eq!(record.message, "GET /rest/v1/items?apikey=*** 200");
    assert_eq!(record.fields["duration_ms"], 1.25);
    drop(tail);
    test.store.write_access(entry);
    test.store.close().await;
    let written = test.messages(&Query::project("shop"));
    assert_eq!(written, [record.message.clone(), record.message]);
}

#[tokio::test]
async fn only_what_the_query_matches_arrives() {
    let (test, _paused) = TestStore::paused(Config::default());
    let terms = Query::parse_terms("status:5xx").unwrap();
    let mut tail = test.store.tail(Query {
        terms,
        ..Query::project("shop")
    });

    test.store.write(
        record("another project")
            .project("blog")
            .field("status", 500),
    );
    test.store
        .write(record("another status").field("status", 200));
    test.store.write(record("wanted").field("status", 500));

    assert_eq!(next_message(&mut tail).await, "wanted");
}

#[tokio::test]
async fn a_slow_receiver_learns_what_it_lost_and_goes_on() {
    let (test, _paused) = TestStore::paused(Config {
        tail_records: 4,
        ..Config::default()
    });
    let mut slow = test.store.tail(Query::all());

    for n in 0..10 {
        test.store.try_write(record(format!("{n}"))).unwrap();
    }

    assert_eq!(slow.recv().await, Some(TailItem::Dropped(6)));
    for n in 6..10 {
        assert_eq!(next_message(&mut slow).await, format!("{n}"));
    }
}

#[tokio::test]
async fn what_the_queue_rejects_is_not_shown() {
    let (test, paused) = TestStore::paused(Config {
        queue_records: 1,
        ..Config::default()
    });
    let mut tail = test.store.tail(Query::all());

    test.store.write(record("accepted"));
    test.store.write(record("refused"));
    drop(test.store);
    drop(paused);

    assert_eq!(next_message(&mut tail).await, "accepted");
    assert_eq!(tail.recv().await, None);
}

#[tokio::test]
async fn closing_the_store_ends_the_tail_after_its_last_record() {
    let test = TestStore::start(Config::default());
    let mut tail = test.store.tail(Query::all());

    test.store.write(record("last"));
    test.store.close().await;

    assert_eq!(next_message(&mut tail).await, "last");
    assert_eq!(tail.recv().await, None);
    assert_eq!(tail.recv().await, None);
}

#[tokio::test]
async fn a_tail_shows_no_secrets_and_cannot_be_used_to_guess_them() {
    let (test, _paused) = TestStore::paused(Config::default());
    let terms = Query::parse_terms("hunter2").unwrap();
    let mut guess = test.store.tail(Query {
        terms,
        ..Query::all()
    });
    let mut tail = test.store.tail(Query::all());

    test.store
        .write(record("signed in").field("password", "hunter2"));
    test.store.write(record("mentions hunter2"));

    let Some(TailItem::Record(Record { fields, .. })) = tail.recv().await else {
        panic!()
    };
    assert_eq!(fields["password"], "***");
    assert_eq!(next_message(&mut guess).await, "mentions hunter2");
}

#[tokio::test]
async fn the_note_about_dropped_records_is_tailed_too() {
    let (test, writer) = TestStore::paused(Config {
        queue_records: 1,
        ..Config::default()
    });
    let mut tail = test.store.tail(Query {
        sources: vec![Source::Jobs],
        ..Query::all()
    });

    test.store.write(record("accepted"));
    test.store.write(record("refused"));
    writer.start().unwrap();

    assert!(
        next_message(&mut tail)
            .await
            .starts_with("log records were dropped (1)")
    );
    test.store.close().await;
}
