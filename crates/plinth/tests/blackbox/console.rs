//! What open consoles see when the server goes away: streams of events, jobs, settings.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Folder, Instance, Session, eventually, rows, value};

const TIMEOUT: Duration = Duration::from_secs(30);

/// A stream of server-sent events over a plain socket.
struct Events {
    lines: BufReader<TcpStream>,
}

struct Event {
    id: Option<String>,
    name: String,
    data: Value,
}

impl Events {
    fn open(server: &Instance<'_>, token: &str, last: Option<&str>) -> Self {
        let authority = server.api_url().trim_start_matches("http://").to_owned();
        let mut socket = TcpStream::connect(&authority).expect("a connection");
        socket.set_read_timeout(Some(TIMEOUT)).expect("a socket");
        let last = last.map_or_else(String::new, |last| format!("Last-Event-ID: {last}\r\n"));
        let request = format!(
            "GET /platform/events HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n{last}\r\n"
        );
        socket.write_all(request.as_bytes()).expect("a request");
        let mut lines = BufReader::new(socket);
        let mut status = String::new();
        lines.read_line(&mut status).expect("a status");
        assert!(status.contains(" 200 "), "{status}");
        Self { lines }
    }

    /// The next event; `None` when the server ends the stream.
    fn next(&mut self) -> Option<Event> {
        let (mut id, mut name, mut data) = (None, None, None);
        loop {
            let mut line = String::new();
            // An error is a connection that was reset.
            if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.to_owned());
            } else if let Some(text) = line.strip_prefix("event: ") {
                name = Some(text.to_owned());
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = serde_json::from_str(text).ok();
            } else if line.is_empty()
                && let (Some(name), Some(data)) = (name.take(), data.take())
            {
                return Some(Event { id, name, data });
            }
        }
    }

    fn until(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().expect("an open stream");
            if event.name == name {
                return event;
            }
        }
    }
}

fn token(server: &Instance<'_>) -> String {
    let made = server.cli_json(&["tokens", "create", "console"]);
    made["token"].as_str().expect("a token").to_owned()
}

#[test]
fn a_stream_of_events_survives_a_stop_and_a_kill() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let token = token(&server);
    let mut events = Events::open(&server, &token, None);
    let ready = events.next().expect("an event");
    assert_eq!(ready.name, "ready");
    let create = |server: &Instance<'_>, name: &str| {
        server.cli_json(&["projects", "create", name]);
    };
    create(&server, "One");
    let one = events.until("project.created");
    assert_eq!(one.data["name"], "One");
    let seen = one.id.expect("an id");

    // The stream ends at once, so that the stop need not wait for it.
    assert!(server.stop().success());
    assert!(events.next().is_none());

    let server = Instance::start(&folder, &[]);
    create(&server, "Two");
    let mut again = Events::open(&server, &token, Some(&seen));
    assert_eq!(again.until("project.created").data["name"], "Two");

    server.kill9();
    while again.next().is_some() {}

    let server = Instance::start(&folder, &[]);
    create(&server, "Three");
    let mut last = Events::open(&server, &token, Some(&seen));
    for name in ["Two", "Three"] {
        assert_eq!(last.until("project.created").data["name"], name);
    }
}

/// Rows that never arrive in a branch: their check waits there for ten minutes.
const SLOW: &str = "
    create function slow(id int) returns boolean language plpgsql as $$
    begin
        if session_user like 'loader%' then perform pg_catalog.pg_sleep(600); end if;
        return true;
    end $$;
    create table items (id int primary key check (slow(id)));
    insert into items values (1)";

/// Starts a branch that is dumped and does not end; its ref and its job.
fn endless_branch(server: &Instance<'_>, name: &str) -> (String, String) {
    let branch = server.cli_json(&["branches", "create", name, "--no-wait"]);
    let text = |member: &str| branch[member].as_str().expect("a text").to_owned();
    let (reference, job) = (text("PLINTH_REF"), text("JOB"));
    let restoring =
        format!("select count(*) from pg_stat_activity where usename = 'loader_{reference}'");
    eventually(TIMEOUT, "rows are inserted", || {
        (value(server.db_url(), &restoring) != "0").then_some(())
    });
    (reference, job)
}

fn expect_nothing_left(server: &Instance<'_>, reference: &str) {
    let left = format!(
        "select (select count(*) from pg_database where datname = '{reference}')
              + (select count(*) from pg_roles where rolname like '%{reference}')"
    );
    eventually(TIMEOUT, "its remains are gone", || {
        (value(server.db_url(), &left) == "0").then_some(())
    });
}

#[test]
fn a_job_ends_in_a_stated_way_when_cancelled_and_when_the_server_is_killed() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let token = token(&server);
    let http = server.http().token(&token);
    let session = Session::open(server.db_url());
    session.run(SLOW);
    let state = |server: &Instance<'_>, job: &str| {
        let http = server.http().token(&token);
        http.get(&format!("/platform/jobs/{job}"))
            .expect_status(200)
            .json()
    };

    let (reference, cancelled) = endless_branch(&server, "first");
    http.post(&format!("/platform/jobs/{cancelled}/cancel"), "")
        .expect_status(202);
    eventually(TIMEOUT, "it is cancelled", || {
        (state(&server, &cancelled)["state"] == "cancelled").then_some(())
    });
    expect_nothing_left(&server, &reference);

    let (reference, killed) = endless_branch(&server, "second");
    server.kill9();
    drop(session);
    let server = Instance::start(&folder, &[]);

    let job = state(&server, &killed);
    assert_eq!(job["state"], "failed", "{job}");
    assert!(job["error"].to_string().contains("ended before"), "{job}");
    assert!(job["finished_at"].is_string());
    expect_nothing_left(&server, &reference);
}

#[test]
fn settings_change_live_and_fixed_ones_name_their_place() {
    let folder = Folder::with(&[("config.toml", "[auth]\nsite_url = \"https://x.example\"\n")]);
    let server = Instance::start(&folder, &["--set", "auth.jwt_expiry=1800"]);
    let token = token(&server);
    let http = server.http().token(&token);
    let config = "/platform/projects/default/config";
    let change = |settings: Value| {
        let body = json!({ "settings": settings }).to_string();
        http.send("PATCH", config, &body).expect("a response")
    };
    rows(
        server.db_url(),
        "create table many as select generate_series(1, 20) as id; grant select on many to anon",
    );
    let key = server.value("ANON_KEY").to_owned();
    let count = || -> Option<usize> {
        let rest = server.http().header("apikey", &key);
        let reply = rest.get("/rest/v1/many?select=id");
        reply.json().as_array().map(Vec::len)
    };
    eventually(TIMEOUT, "the table", || {
        count().filter(|count| *count == 20)
    });

    change(json!({ "api.max_rows": 5 })).expect_status(200);

    eventually(Duration::from_secs(2), "the new limit", || {
        count().filter(|count| *count == 5)
    });
    let by_file = change(json!({ "auth.site_url": "https://y.example" })).expect_status(409);
    assert_eq!(by_file.code(), "setting_fixed");
    assert!(by_file.body.contains("config.toml, line 2"), "{by_file:?}");
    let by_option = change(json!({ "auth.jwt_expiry": 60 })).expect_status(409);
    assert!(by_option.body.contains("command line"), "{by_option:?}");
    let shown = http.get(config).expect_status(200).json();
    let list = shown["settings"].as_array().expect("a list");
    let site = list
        .iter()
        .find(|it| it["name"] == "auth.site_url")
        .expect("a setting");
    assert_eq!(
        (&site["source"], &site["is_changeable"]),
        (&json!("file"), &json!(false))
    );

    assert!(server.stop().success());
    let server = Instance::start(&folder, &[]);
    let http = server.http().token(&token);
    let rows = http.get("/v1/projects").expect_status(200).json();
    let reference = rows[0]["ref"].as_str().expect("a ref").to_owned();
    let rest = http.get(&format!("/v1/projects/{reference}/postgrest"));
    assert_eq!(rest.expect_status(200).json()["max_rows"], 5);
}
