//! Channels of the whole program: under its other name, in its metrics, and while PostgreSQL goes
//! away and comes back.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    Channel, ExternalPostgres, Folder, Instance, eventually, kill, postgres_processes, rows, skip,
    try_rows,
};

/// A database that recovers on a busy machine takes its time.
const RECOVERY: Duration = Duration::from_secs(60);

/// The key of the row that is written when everything is over.
const LAST: i64 = 1_000_000;

const NOTES: &str = "create table public.notes (id int primary key);
     alter table public.notes enable row level security;
     create policy everybody on public.notes for select using (true);
     alter publication supabase_realtime add table public.notes;
     grant select on public.notes to anon";

#[test]
fn sockets_have_a_second_name_and_numbers_have_their_project() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let mut one = Channel::join(&server, &json!({}));
    let mut other = Channel::join_at(&server, "/socket/websocket", &json!({}));

    let message = json!({"type": "broadcast", "event": "e", "payload": {"n": 1}});
    one.send(&json!(["1", "2", "realtime:r", "broadcast", message]));

    let heard = other.until(|frame| frame[3] == "broadcast");
    assert_eq!(heard[4]["payload"]["n"], 1);
    let page = server.http().get("/metrics").expect_status(200).body;
    let number = |name: &str| {
        let start = format!("{name}{{project=\"");
        let line = page.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("no {name} in {page}"));
        line.rsplit(' ').next().map(str::to_owned)
    };
    assert_eq!(
        number("realtime_connections_connected").as_deref(),
        Some("2")
    );
    assert_eq!(number("realtime_channel_joins").as_deref(), Some("2"));
    // Taken once and delivered once.
    assert_eq!(number("realtime_channel_events").as_deref(), Some("2"));
    // Once more, over all projects.
    for sum in [
        "realtime_global_connections_connected 2",
        "realtime_global_connections_connected_cluster 2",
        "realtime_global_channel_joins 2",
        "realtime_global_channel_events 2",
        "realtime_global_tenants_payload_size_count{message_type=\"broadcast\"} 1",
    ] {
        assert!(page.lines().any(|line| line == sum), "no {sum} in {page}");
    }
    assert!(page.contains("# HELP realtime_channel_joins "), "{page}");
    assert!(
        page.contains("realtime_tenants_payload_size_bucket{"),
        "{page}"
    );
}

/// Rows are written while the database restarts; everything that was committed is delivered, once
/// and in order.
fn nothing_is_lost(server: &Instance<'_>, url: &str, restart: impl FnOnce()) {
    rows(url, NOTES);
    let mut channel = Channel::listening_to_notes(server);
    let (is_over, committed) = (AtomicBool::new(false), AtomicU64::new(0));
    let write = |id: i64| try_rows(url, &format!("insert into public.notes values ({id})"));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut id = 0;
            while !is_over.load(Ordering::Relaxed) {
                id += 1;
                // What the server could not confirm may have been committed: that is looked up below.
                if write(id).is_ok() {
                    committed.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let twenty_more = || {
                let wanted = committed.load(Ordering::Relaxed) + 20;
                eventually(RECOVERY, "the database can be written", || {
                    (committed.load(Ordering::Relaxed) >= wanted).then_some(())
                });
            };
            twenty_more();
            restart();
            twenty_more();
        }));
        is_over.store(true, Ordering::Relaxed);
        writer.join().expect("the writer ends");
        outcome.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    });

    // The last one ends the reading, and shows that the channel is as alive as before.
    rows(url, &format!("insert into public.notes values ({LAST})"));
    let kept = rows(url, "select id from public.notes order by id");
    let kept: Vec<i64> = kept.iter().map(|id| id.parse().expect("a key")).collect();
    let mut received = Vec::new();
    while received.last() != Some(&LAST) {
        received.push(channel.next_id());
    }
    assert_eq!(received, kept);
}

#[test]
fn subscribers_receive_everything_across_a_crash_of_the_managed_database() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let postmaster = folder.postmaster().expect("a postmaster");

    nothing_is_lost(&server, server.db_url(), || {
        kill(postmaster, Signal::KILL);
        eventually(RECOVERY, "it is started again", || {
            folder.postmaster().filter(|pid| *pid != postmaster)
        });
    });

    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn subscribers_receive_everything_across_a_restart_of_an_external_database() {
    let Some(mut external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let folder = Folder::new();
    let server = Instance::start(&folder, &["--database-url", &url]);

    nothing_is_lost(&server, &url, || external.restart());

    let slots = rows(&url, "select slot_name from pg_replication_slots");
    assert_eq!(slots.len(), 1, "{slots:?}");
    assert_eq!(server.stop().code(), Some(0));
    let slots = rows(&url, "select slot_name from pg_replication_slots");
    assert_eq!(slots, [] as [String; 0]);
}

#[test]
fn public_channels_need_no_database() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let mut one = Channel::join(&server, &json!({}));
    let database = postgres_processes(&folder.data_dir());
    assert!(!database.is_empty());
    for pid in &database {
        kill(*pid, Signal::STOP);
    }

    let heard = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut other = Channel::join(&server, &json!({}));
        let message = json!({"type": "broadcast", "event": "e", "payload": {}});
        other.send(&json!(["1", "2", "realtime:r", "broadcast", message]));
        one.until(|frame| frame[3] == "broadcast")
    }));

    for pid in &database {
        kill(*pid, Signal::CONT);
    }
    let heard = heard.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    assert_eq!(heard[4]["event"], "e");
}
