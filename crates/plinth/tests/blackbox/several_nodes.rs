//! Programs that serve the same projects, with NATS between them.

use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{
    Channel, ExternalPostgres, Folder, Instance, eventually, free_port, rows, skip,
};

const INSTANCE_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

const NOTES: &str = "create table public.notes (id int primary key);
     alter publication supabase_realtime add table public.notes;
     grant select on public.notes to anon";

struct Nats {
    process: Child,
    url: String,
}

impl Nats {
    fn start() -> Option<Self> {
        let port = free_port();
        let process = Command::new("nats-server")
            .args(["--addr", "127.0.0.1", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let nats = Self {
            process,
            url: format!("nats://127.0.0.1:{port}"),
        };
        eventually(Duration::from_secs(10), "nats-server answers", || {
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Some(nats)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
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
    let told = |id: i64| move |frame: &Value| frame[4]["data"]["record"]["id"] == id;
    insert(&url, 1..=1);
    on_one.until(told(1));
    on_two.until(told(1));

    one.kill9();
    insert(&url, 2..=20);

    for id in 2..=20 {
        // In their order: whatever comes out of it would be skipped, and missed later.
        on_two.until(told(id));
    }
    let gone = on_two
        .until(|frame| frame[3] == "presence_diff" && frame[4]["leaves"]["somebody"].is_object());
    assert_eq!(gone[4]["joins"], json!({}));
    drop(on_one);
}

#[test]
fn of_three_nodes_any_takes_over_and_all_others_hear_everything() {
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
    // The first that somebody listens on reads the log.
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
    // What is said on one of those that are left still reaches the other.
    let said = json!({"type": "broadcast", "event": "e", "payload": {"n": 1}});
    on_three.send(&json!(["1", "2", "realtime:r", "broadcast", said]));
    let heard = on_two.until(|frame| frame[3] == "broadcast");
    assert_eq!(heard[4]["payload"]["n"], 1);
}
