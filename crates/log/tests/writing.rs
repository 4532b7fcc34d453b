//! From `write` to the files: order, rotation, loss and failure.

mod support;

use std::{fs, io::Write, time::Duration};

use plinth_log::{
    AccessEntry, Config, Level, LogStore, OpenError, Query, Record, Source, Timestamp, WriteError,
};
use support::{TestStore, access_entry, at, messages, record, segments_in};

#[tokio::test]
async fn everything_written_is_in_the_files_in_order_after_closing() {
    let test = TestStore::start(Config::default());
    let records: Vec<_> = (0..3000)
        .map(|n| record(format!("record {n}")).at(at(n)).field("n", n))
        .collect();

    for record in &records {
        test.store.try_write(record.clone()).unwrap();
    }
    test.store.close().await;

    let [segment] = &test.segments("api")[..] else {
        panic!("one segment was expected")
    };
    let content = fs::read_to_string(segment).unwrap();
    let lines: Vec<Record> = content
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines, records);
    let status = test.store.status();
    assert_eq!((status.written, status.dropped), (3000, 0));
    assert_eq!(status.bytes_on_disk, content.len() as u64);
    assert!(!status.is_failing && status.last_error.is_none());
}

#[tokio::test]
async fn records_without_a_project_belong_to_the_platform() {
    let test = TestStore::start(Config::default());

    test.store
        .write(Record::new(Source::Jobs, Level::Info, "started"));
    test.store.close().await;

    assert_eq!(test.messages(&Query::project("platform")), ["started"]);
    assert_eq!(segments_in(&test.path().join("platform/jobs")).len(), 1);
}

#[tokio::test]
async fn a_closed_store_takes_nothing_more_and_can_be_closed_again() {
    let (test, writer) = TestStore::paused(Config::default());
    let thread = writer.start().unwrap();

    test.store.close().await;
    thread.join();
    test.store.close().await;
    test.store.flush().await;

    assert_eq!(
        test.store.try_write(record("late")),
        Err(WriteError::Closed)
    );
    assert_eq!(test.store.dropped(), 1);
}

#[tokio::test]
async fn the_writer_finishes_when_the_last_handle_is_gone() {
    let (TestStore { store, dir, .. }, writer) = TestStore::paused(Config::default());
    store.write(record("last words"));

    drop(store);
    writer.start().unwrap().join();

    let (reader, _) = LogStore::open(dir.path(), Config::default()).unwrap();
    assert_eq!(messages(&reader, &Query::all()), ["last words"]);
}

#[tokio::test]
async fn a_full_segment_is_followed_by_another() {
    let test = TestStore::start(Config {
        segment_bytes: 1000,
        ..Config::default()
    });

    for n in 0..40 {
        test.store.write(record(format!("record {n:02}")).at(at(n)));
    }
    test.store.close().await;

    let segments = test.segments("api");
    assert!(segments.len() > 3, "{segments:?}");
    for segment in &segments {
        assert!(fs::metadata(segment).unwrap().len() <= 1000);
    }
    let mut expected: Vec<_> = (0..40).map(|n| format!("record {n:02}")).collect();
    expected.reverse();
    assert_eq!(test.messages(&Query::all()), expected);
}

#[tokio::test]
async fn a_record_larger_than_a_segment_gets_one_of_its_own() {
    let test = TestStore::start(Config {
        segment_bytes: 100,
        ..Config::default()
    });

    test.store.write(record("a".repeat(500)));
    test.store.write(record("b".repeat(500)));
    test.store.close().await;

    assert_eq!(test.segments("api").len(), 2);
    assert_eq!(test.store.dropped(), 0);
}

#[tokio::test]
async fn each_utc_day_has_segments_of_its_own() {
    let test = TestStore::start(Config::default());

    test.store.write(record("today"));
    test.store.flush().await;
    test.clock.advance(Duration::from_secs(14 * 3600 - 1));
    test.store.write(record("today, a second before midnight"));
    test.store.flush().await;
    assert_eq!(test.segments("api").len(), 1);
    test.clock.advance(Duration::from_secs(1));
    test.store.write(record("tomorrow"));
    test.store.close().await;

    let names: Vec<_> = test
        .segments("api")
        .iter()
        .map(|p| p.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "20260801T100000000000Z.ndjson",
            "20260802T000000000000Z.ndjson"
        ]
    );
}

#[tokio::test]
async fn a_restart_goes_on_with_the_last_segment() {
    let test = TestStore::start(Config::default());
    test.store.write(record("before").at(at(1)));
    test.store.close().await;

    let config = Config {
        clock: test.clock.clock(),
        ..Config::default()
    };
    let (store, writer) = LogStore::open(test.path(), config).unwrap();
    writer.start().unwrap();
    store.write(record("after").at(at(2)));
    store.close().await;

    assert_eq!(test.segments("api").len(), 1);
    assert_eq!(messages(&store, &Query::all()), ["after", "before"]);
    let bytes = fs::metadata(&test.segments("api")[0]).unwrap().len();
    assert_eq!(store.status().bytes_on_disk, bytes);
}

#[tokio::test]
async fn a_line_torn_by_a_crash_costs_nothing_but_itself() {
    let test = TestStore::start(Config::default());
    test.store.write(record("whole").at(at(1)));
    test.store.close().await;
    let segment = test.segments("api").remove(0);
    let mut file = fs::OpenOptions::new().append(true).open(segment).unwrap();
    file.write_all(b"{\"time\":\"2026-08-01T10:00:00.000002Z\",\"level\":\"inf")
        .unwrap();

    assert_eq!(test.messages(&Query::all()), ["whole"]);
    let config = Config {
        clock: test.clock.clock(),
        ..Config::default()
    };
    let (store, writer) = LogStore::open(test.path(), config).unwrap();
    writer.start().unwrap();
    store.write(record("next").at(at(3)));
    store.close().await;

    assert_eq!(messages(&store, &Query::all()), ["next", "whole"]);
}

#[tokio::test]
async fn what_a_full_queue_rejects_is_counted_and_logged_once() {
    let (test, writer) = TestStore::paused(Config {
        queue_records: 10,
        ..Config::default()
    });

    let outcomes: Vec<_> = (0..25)
        .map(|n| {
            test.store
                .try_write(record(format!("record {n:02}")).at(at(n)))
        })
        .collect();
    assert_eq!(test.store.dropped(), 15);
    assert!(outcomes[..10].iter().all(Result::is_ok));
    assert!(
        outcomes[10..]
            .iter()
            .all(|outcome| *outcome == Err(WriteError::QueueFull))
    );
    writer.start().unwrap();
    test.store.flush().await;
    test.store.write(record("afterwards"));
    test.store.close().await;

    assert_eq!(test.messages(&Query::project("shop")).len(), 11);
    let notes = test
        .store
        .search(&Query::project("platform"))
        .unwrap()
        .records;
    assert_eq!(notes.len(), 1);
    assert_eq!(
        (notes[0].level, notes[0].source),
        (Level::Warn, Source::Jobs)
    );
    assert_eq!(notes[0].fields["dropped"], 15);
    assert!(
        notes[0]
            .message
            .starts_with("log records were dropped (15)")
    );
}

#[tokio::test]
async fn the_queue_is_bounded_in_bytes_too() {
    let (test, writer) = TestStore::paused(Config {
        queue_bytes: 10_000,
        ..Config::default()
    });

    assert_eq!(test.store.try_write(record("x".repeat(6000))), Ok(()));
    assert_eq!(
        test.store.try_write(record("y".repeat(6000))),
        Err(WriteError::QueueFull)
    );
    writer.start().unwrap();
    test.store.flush().await;

    assert_eq!(test.store.try_write(record("z".repeat(6000))), Ok(()));
}

#[tokio::test]
async fn access_entries_are_found_as_records_without_their_secrets() {
    let test = TestStore::start(Config::default());
    let long = access_entry(&format!("/{}", "x".repeat(1 << 20)));
    let entries = [
        access_entry("/rest/v1/items?apikey=hunter2"),
        access_entry("/rest/v1/items"),
        long,
    ];

    for entry in &entries {
        test.store.write_access(entry.clone());
    }
    test.store.write(record("between").at(at(0)));
    test.store.close().await;

    let found = test.store.search(&Query::project("shop")).unwrap().records;
    let [between, long, clean, masked] = &found[..] else {
        panic!("four records were expected, not {}", found.len())
    };
    assert_eq!(between.message, "between");
    assert_eq!(long.fields["truncated"], true);
    assert_eq!(*clean, entries[1].to_record());
    assert_eq!(masked.message, "GET /rest/v1/items?apikey=*** 200");
    assert_eq!(masked.fields["path"], "/rest/v1/items?apikey=***");
    assert_eq!(test.store.status().written, 4);
}

#[tokio::test]
async fn access_entries_count_against_the_queues_limits() {
    let (test, writer) = TestStore::paused(Config {
        queue_records: 2,
        queue_bytes: 10_000,
        ..Config::default()
    });

    test.store.write_access(access_entry(&"x".repeat(4_000)));
    assert_eq!(test.store.dropped(), 0);
    // Too many bytes, then too many entries.
    test.store.write_access(access_entry(&"x".repeat(4_000)));
    assert_eq!(test.store.dropped(), 1);
    test.store.write_access(access_entry("/"));
    assert_eq!(test.store.dropped(), 1);
    test.store.write_access(access_entry("/"));
    assert_eq!(test.store.dropped(), 2);

    writer.start().unwrap();
    test.store.flush().await;
    test.store.write_access(access_entry(&"x".repeat(4_000)));
    assert_eq!(test.store.dropped(), 2);
    test.store.close().await;
    test.store.write_access(access_entry("/"));
    assert_eq!(test.store.dropped(), 3);
}

#[tokio::test]
async fn huge_records_are_cut_and_marked() {
    let test = TestStore::start(Config::default());

    test.store
        .write(record("m".repeat(1 << 20)).field("status", 200));
    test.store.close().await;

    let [record] = &test.store.search(&Query::all()).unwrap().records[..] else {
        panic!()
    };
    assert_eq!(record.fields["truncated"], true);
    assert_eq!(record.fields["status"], 200);
    assert!(fs::metadata(&test.segments("api")[0]).unwrap().len() <= 64 << 10);
}

#[tokio::test]
async fn secrets_never_reach_the_disk() {
    let test = TestStore::start(Config::default());

    test.store.write(
        record("called with sb_secret_N7UND0UgjKTVK")
            .field("authorization", "Bearer hunter2hunter2")
            .field("path", "/auth/v1/verify?token=hunter2&type=signup"),
    );
    test.store.close().await;

    let content = fs::read_to_string(&test.segments("api")[0]).unwrap();
    assert!(
        !content.contains("hunter2") && !content.contains("N7UND0"),
        "{content}"
    );
    assert!(
        content.contains("/auth/v1/verify?token=***&type=signup"),
        "{content}"
    );
}

#[tokio::test]
async fn a_project_cannot_lead_out_of_the_folder() {
    let test = TestStore::start(Config::default());

    for project in ["../outside", "..", "a/b", "/tmp/x", "Shop", &"x".repeat(65)] {
        let outcome = test.store.try_write(record("m").project(project));
        assert_eq!(outcome, Err(WriteError::InvalidProject(project.to_owned())));
    }
    let outside = AccessEntry {
        project: "../outside".into(),
        ..*access_entry("/")
    };
    test.store.write_access(Box::new(outside));
    test.store.close().await;

    assert_eq!(test.store.dropped(), 7);
    assert!(
        test.store
            .status()
            .last_error
            .unwrap()
            .message
            .contains("is not a project ref")
    );
    let names: Vec<_> = segments_in(test.path());
    assert_eq!(
        names,
        [test.path().join("platform")],
        "only the note about the dropped records"
    );
}

#[test]
fn a_store_with_impossible_settings_is_not_opened() {
    let config = Config {
        own_project: "Not Valid".to_owned(),
        ..Config::default()
    };

    assert!(matches!(
        LogStore::open("unused", config),
        Err(OpenError::InvalidProject(_))
    ));
}

#[tokio::test]
async fn a_stream_that_cannot_be_written_recovers_and_harms_no_other() {
    let (test, writer) = TestStore::paused(Config {
        retry_after: Duration::ZERO,
        ..Config::default()
    });
    // A file where the folder should be stops even root, whom no permission stops.
    fs::write(test.path().join("shop"), "in the way").unwrap();

    test.store.write(record("lost 1"));
    test.store.write(record("lost 2"));
    test.store.write(record("fine").project("other"));
    writer.start().unwrap();
    test.store.flush().await;

    let status = test.store.status();
    assert!(status.is_failing);
    assert_eq!(
        (status.dropped, status.written),
        (2, 2),
        "written: `fine` and the note"
    );
    let error = status.last_error.unwrap();
    assert!(
        error
            .message
            .starts_with("the api log of project shop cannot be written:")
    );
    assert_eq!(error.at, test.clock.now());
    assert_eq!(test.messages(&Query::project("other")), ["fine"]);

    fs::remove_file(test.path().join("shop")).unwrap();
    test.store.write(record("back"));
    test.store.close().await;

    assert_eq!(test.messages(&Query::project("shop")), ["back"]);
    assert!(!test.store.status().is_failing);
}

#[tokio::test]
async fn a_failing_stream_is_not_written_before_its_retry_is_due() {
    let test = TestStore::start(Config {
        retry_after: Duration::from_secs(3600),
        ..Config::default()
    });
    fs::write(test.path().join("shop"), "in the way").unwrap();
    test.store.write(record("lost"));
    test.store.flush().await;
    fs::remove_file(test.path().join("shop")).unwrap();

    test.store.write(record("too early"));
    test.store.close().await;

    assert_eq!(test.store.dropped(), 2);
    assert_eq!(test.segments("api").len(), 0);
}

#[tokio::test]
async fn notes_about_dropped_records_do_not_flood_the_store() {
    let test = TestStore::start(Config {
        retry_after: Duration::ZERO,
        ..Config::default()
    });
    fs::write(test.path().join("shop"), "in the way").unwrap();

    for _ in 0..20 {
        test.store.write(record("lost"));
        test.store.flush().await;
    }
    test.store.close().await;

    let notes = test
        .store
        .search(&Query::project("platform"))
        .unwrap()
        .records;
    let dropped: u64 = notes
        .iter()
        .map(|note| note.fields["dropped"].as_u64().unwrap())
        .sum();
    assert!(
        notes.len() <= 3,
        "the first, the last, and one if the machine is very slow"
    );
    assert_eq!(dropped, 20);
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_folder_costs_records_but_nothing_else() {
    use std::os::unix::fs::PermissionsExt;
    let test = TestStore::start(Config::default());
    fs::set_permissions(test.path(), fs::Permissions::from_mode(0o500)).unwrap();
    // Root writes regardless of permissions; the file in the way above covers that case.
    let is_stopped = fs::create_dir(test.path().join("probe")).is_err();

    test.store.write(record("m"));
    test.store.close().await;

    fs::set_permissions(test.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(test.store.dropped(), u64::from(is_stopped));
    assert_eq!(test.store.status().is_failing, is_stopped);
    assert_eq!(
        test.messages(&Query::project("shop")).len(),
        usize::from(!is_stopped)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn folders_and_files_are_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let test = TestStore::start(Config::default());

    test.store.write(record("m"));
    test.store.close().await;

    assert_eq!(mode(&test.path().join("shop")), 0o700);
    assert_eq!(mode(&test.path().join("shop/api")), 0o700);
    assert_eq!(mode(&test.segments("api")[0]), 0o600);
}

#[tokio::test]
async fn more_streams_than_open_files_lose_nothing() {
    let test = TestStore::start(Config::default());

    for round in 0..2 {
        for n in 0..300 {
            test.store
                .write(record(format!("round {round}")).project(format!("p{n}")));
            test.store.flush().await;
        }
    }
    test.store.close().await;

    assert_eq!(test.store.status().written, 600);
    for n in [0, 150, 299] {
        let query = Query::project(format!("p{n}"));
        assert_eq!(test.messages(&query), ["round 1", "round 0"]);
        assert_eq!(segments_in(&test.path().join(format!("p{n}/api"))).len(), 1);
    }
}

#[test]
fn now_is_now() {
    let before = Timestamp::now();
    let record = record("m");

    assert!(before <= record.time && record.time <= Timestamp::now());
}
