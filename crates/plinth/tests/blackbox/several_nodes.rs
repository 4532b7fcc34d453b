//! Two programs that serve the same projects, with NATS between them.

use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client::IntoClientRequest as _};

use crate::support::{ExternalPostgres, Folder, Instance, eventually, free_port, rows, skip};

const INSTANCE_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

/// A node that died is forgotten after half a minute of silence.
const FORGOTTEN: Duration = Duration::from_secs(60);

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

/// A client's channel.
struct Channel(WebSocket<TcpStream>);

impl Channel {
    fn join(node: &Instance<'_>, config: &Value) -> Self {
        let url = node.api_url().replace("http://", "ws://");
        let key = node.value("PUBLISHABLE_KEY");
        let url = format!("{url}/realtime/v1/websocket?vsn=2.0.0&apikey={key}");
        let request = url.as_str().into_client_request().expect("a request");
        let address = node.api_url().trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(address).expect("the node answers");
        let (socket, _) = tungstenite::client(request, stream).expect("a socket");
        let mut channel = Self(socket);
        channel.send(&json!(["1", "1", "realtime:r", "phx_join", {"config": config}]));
        channel.until(|frame| frame[3] == "phx_reply" && frame[4]["status"] == "ok");
        channel
    }

    fn send(&mut self, frame: &Value) {
        let sent = self.0.send(Message::text(frame.to_string()));
        sent.expect("the socket is open");
    }

    /// Reads up to the frame that is waited for; says now and then that it is there.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        let mut beat = Instant::now();
        let stream = self.0.get_ref();
        let patience = stream.set_read_timeout(Some(Duration::from_secs(5)));
        patience.expect("a time limit");
        loop {
            assert!(began.elapsed() < FORGOTTEN, "nothing arrives");
            if beat.elapsed() > Duration::from_secs(20) {
                beat = Instant::now();
                self.send(&json!([null, "9", "phoenix", "heartbeat", {}]));
            }
            match self.0.read() {
                Ok(Message::Text(text)) => {
                    let frame: Value = serde_json::from_str(&text).expect("JSON");
                    if is_it(&frame) {
                        return frame;
                    }
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) => {}
                Err(error) => panic!("{error}"),
            }
        }
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
    let nodes = folders.each_ref().map(|folder| {
        let mut command = folder.command(&["start", "--port", "auto"]);
        command
            .env("PLINTH_INSTANCE_KEY", INSTANCE_KEY)
            .env("PLINTH_DATABASE_URL", &url)
            .env("PLINTH_NATS_URL", &nats.url);
        Instance::spawn_command(folder, command)
    });
    let [one, two] = nodes.map(Instance::ready);
    rows(
        &url,
        "create table public.notes (id int primary key);
         alter publication supabase_realtime add table public.notes;
         grant select on public.notes to anon",
    );
    let config = json!({
        "postgres_changes": [{"event": "*", "schema": "public", "table": "notes"}],
        "presence": {"enabled": true, "key": "somebody"},
    });
    let is_live = |frame: &Value| frame[4]["message"] == "Subscribed to PostgreSQL";
    let mut on_one = Channel::join(&one, &config);
    on_one.until(is_live);
    let track = json!({"type": "presence", "event": "track", "payload": {}});
    on_one.send(&json!(["1", "2", "realtime:r", "presence", track]));
    let mut on_two = Channel::join(&two, &config);
    on_two.until(is_live);
    let told = |id: i64| move |frame: &Value| frame[4]["data"]["record"]["id"] == id;
    rows(&url, "insert into public.notes values (1)");
    on_one.until(told(1));
    on_two.until(told(1));

    one.kill9();
    for id in 2..=20 {
        rows(&url, &format!("insert into public.notes values ({id})"));
    }

    for id in 2..=20 {
        // In their order: whatever comes out of it would be skipped, and missed later.
        on_two.until(told(id));
    }
    let gone = on_two
        .until(|frame| frame[3] == "presence_diff" && frame[4]["leaves"]["somebody"].is_object());
    assert_eq!(gone[4]["joins"], json!({}));
    drop(on_one);
}
