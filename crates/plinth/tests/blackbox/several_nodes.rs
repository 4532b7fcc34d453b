//! Programs that serve the same projects, with NATS between them.

use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{
    Channel, ExternalPostgres, FileStore, Folder, Instance, eventually, free_port, rows,
    run_to_end, skip,
};

const TIMEOUT: Duration = Duration::from_secs(120);

const INSTANCE_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

const NOTES: &str = "create table public.notes (id int primary key);
     alter publication supabase_realtime add table public.notes;
     grant select on public.notes to anon";

struct Nats {
    process: Child,
    port: u16,
    url: String,
}

impl Nats {
    fn start() -> Option<Self> {
        let port = free_port();
        Some(Self {
            process: Self::spawn(port)?,
            port,
            url: format!("nats://127.0.0.1:{port}"),
        })
    }

    fn spawn(port: u16) -> Option<Child> {
        let process = Command::new("nats-server")
            .args(["--addr", "127.0.0.1", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        eventually(Duration::from_secs(10), "nats-server responses", || {
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Some(process)
    }

    fn kill(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }

    /// Starts it again, on the same port.
    fn resume(&mut self) {
        self.process = Self::spawn(self.port).expect("nats-server was there before");
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// One node per folder, over the same database and broker.
fn start<'a, const N: usize>(
    folders: &'a [Folder; N],
    database: &str,
    nats: &Nats,
) -> [Instance<'a>; N] {
    let nodes = folders.each_ref().map(|folder| {
        let mut command = folder.command(&["start", "--port", "auto"]);
        command
            .env("PLINTH_INSTANCE_KEY", INSTANCE_KEY)
            .env("PLINTH_DATABASE_URL", database)
            .env("PLINTH_NATS_URL", &nats.url);
        Instance::spawn_command(folder, command)
    });
    nodes.map(Instance::ready)
}

fn insert(database: &str, ids: std::ops::RangeInclusive<i64>) {
    for id in ids {
        rows(database, &format!("insert into public.notes values ({id})"));
    }
}

#[test]
fn a_node_takes_over_from_one_that_is_killed() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let Some(nats) = Nats::start() else {
        return skip("nats-server is not installed");
    };
    let url = external.url("app");
    let folders = [Folder::new(), Folder::new()];
    let [one, two] = start(&folders, &url, &nats);
    rows(&url, NOTES);
    let config = json!({
        "postgres_changes": [{"event": "*", "schema": "public", "table": "notes"}],
        "presence": {"enabled": true, "key": "somebody"},
    });
    let mut on_one = Channel::join(&one, &config);
    on_one.until_subscribed();
    let track = json!({"type": "presence", "event": "track", "payload": {}});
    on_one.send(&json!(["1", "2", "realtime:r", "presence", track]));
    let mut on_two = Channel::join(&two, &config);
    on_two.until_subscribed();
    let has_id = |id: i64| move |frame: &Value| frame[4]["data"]["record"]["id"] == id;
    insert(&url, 1..=1);
    on_one.until(has_id(1));
    on_two.until(has_id(1));

    one.kill9();
    insert(&url, 2..=20);

    for id in 2..=20 {
        // In their order: whatever comes out of it would be skipped, and missed later.
        on_two.until(has_id(id));
    }
    let gone = on_two
        .until(|frame| frame[3] == "presence_diff" && frame[4]["leaves"]["somebody"].is_object());
    assert_eq!(gone[4]["joins"], json!({}));
    drop(on_one);
}

#[test]
fn of_three_nodes_any_takes_over_and_all_others_receive_everything() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let Some(nats) = Nats::start() else {
        return skip("nats-server is not installed");
    };
    let url = external.url("app");
    let folders = [Folder::new(), Folder::new(), Folder::new()];
    let [one, two, three] = start(&folders, &url, &nats);
    rows(&url, NOTES);
    // The first node with a subscriber follows the replication slot.
    let mut on_one = Channel::listening_to_notes(&one);
    let mut on_two = Channel::listening_to_notes(&two);
    let mut on_three = Channel::listening_to_notes(&three);
    insert(&url, 1..=5);
    for channel in [&mut on_one, &mut on_two, &mut on_three] {
        for id in 1..=5 {
            assert_eq!(channel.next_id(), id);
        }
    }

    one.kill9();
    insert(&url, 6..=30);

    for channel in [&mut on_two, &mut on_three] {
        for id in 6..=30 {
            assert_eq!(channel.next_id(), id, "each once and in order");
        }
    }
    // What is sent to one of the remaining nodes still reaches the other.
    let message = json!({"type": "broadcast", "event": "e", "payload": {"n": 1}});
    on_three.send(&json!(["1", "2", "realtime:r", "broadcast", message]));
    let heard = on_two.until(|frame| frame[3] == "broadcast");
    assert_eq!(heard[4]["payload"]["n"], 1);
}

#[test]
fn a_node_with_local_files_does_not_join_others_that_use_an_s3_store() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let folders = [Folder::new(), Folder::new()];
    let [on_s3, on_disk] = &folders;
    let _store = FileStore::on_s3(on_s3);
    let command = |folder: &Folder| {
        let mut command = folder.command(&["start", "--port", "auto"]);
        command
            .env("PLINTH_INSTANCE_KEY", INSTANCE_KEY)
            .env("PLINTH_DATABASE_URL", &url);
        command
    };
    let first = Instance::spawn_command(on_s3, command(on_s3)).ready();

    let rejected = run_to_end(&mut command(on_disk), None, TIMEOUT).expect_code(4);

    rejected.says(&["keep files in an S3 store", "[plinth.storage]"]);
    // Once it has left, there are no others.
    first.stop();
    let alone = Instance::spawn_command(on_disk, command(on_disk)).ready();
    // It is the same the other way round.
    let rejected = run_to_end(&mut command(on_s3), None, TIMEOUT).expect_code(4);
    rejected.says(&["keep files on their own disks"]);
    alone.stop();
}

/// The node's `/ready`, as soon as its status is this.
fn until_readiness(node: &Instance<'_>, status: &str) -> Value {
    eventually(TIMEOUT, &format!("/ready says {status}"), || {
        // A node never goes out of service for this: everything else works. A machine under load
        // may miss the timeout of one check, but not of three.
        let mut responses = (0..3).map(|_| node.http().get("/ready"));
        let response = responses.find(|response| response.status == 200);
        let response = response.expect("it is in service");
        let body: Value = serde_json::from_str(&response.body).expect("JSON");
        (body["status"] == status).then_some(body)
    })
}

#[test]
fn without_the_broker_nodes_are_degraded_until_it_is_back() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let Some(mut nats) = Nats::start() else {
        return skip("nats-server is not installed");
    };
    let folders = [Folder::new(), Folder::new()];
    let nodes = start(&folders, &external.url("app"), &nats);
    for node in &nodes {
        assert_eq!(until_readiness(node, "ready"), json!({"status": "ready"}));
    }

    nats.kill();
    for node in &nodes {
        let degraded = until_readiness(node, "degraded");
        let reason = degraded["reason"].as_str().expect("a reason");
        assert!(reason.contains("NATS cannot be reached"), "{degraded}");
    }

    nats.resume();
    for node in &nodes {
        until_readiness(node, "ready");
    }
}
