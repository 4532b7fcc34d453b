//! A client's channel, over a socket of its own.

use std::{
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client::IntoClientRequest as _};

use super::Instance;

/// A dead node is removed after 30 s without a heartbeat; nothing takes longer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The topic `realtime:r`, joined.
pub(crate) struct Channel(WebSocket<TcpStream>);

impl Channel {
    pub(crate) fn join(server: &Instance<'_>, config: &Value) -> Self {
        Self::join_at(server, "/realtime/v1/websocket", config)
    }

    /// The same where sockets are opened under another name.
    pub(crate) fn join_at(server: &Instance<'_>, path: &str, config: &Value) -> Self {
        Self::join_with(server, path, server.value("PUBLISHABLE_KEY"), config)
    }

    /// The same with the key of another project, whose path that is.
    pub(crate) fn join_with(server: &Instance<'_>, path: &str, key: &str, config: &Value) -> Self {
        let url = server.api_url().replace("http://", "ws://");
        let url = format!("{url}{path}?vsn=2.0.0&apikey={key}");
        let request = url.as_str().into_client_request().expect("a request");
        let address = server.api_url().trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(address).expect("the server responses");
        let (socket, _) = tungstenite::client(request, stream).expect("a socket");
        let mut channel = Self(socket);
        channel.send(&json!(["1", "1", "realtime:r", "phx_join", {"config": config}]));
        channel.until(|frame| frame[3] == "phx_reply" && frame[4]["status"] == "ok");
        channel
    }

    /// Joins and waits until changes of `public.notes` arrive.
    pub(crate) fn listening_to_notes(server: &Instance<'_>) -> Self {
        let entry = json!({"event": "*", "schema": "public", "table": "notes"});
        let mut channel = Self::join(server, &json!({"postgres_changes": [entry]}));
        channel.until_subscribed();
        channel
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        let sent = self.0.send(Message::text(frame.to_string()));
        sent.expect("the socket is open");
    }

    /// Fails once the socket is closed; reads what has arrived until then.
    pub(crate) fn try_send(&mut self, frame: &Value) -> Result<(), tungstenite::Error> {
        self.0.send(Message::text(frame.to_string()))?;
        let stream = self.0.get_ref();
        let timeout = stream.set_read_timeout(Some(Duration::from_millis(100)));
        timeout.expect("a time limit");
        match self.0.read() {
            Ok(_) => Ok(()),
            Err(tungstenite::Error::Io(error))
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn until_subscribed(&mut self) {
        self.until(|frame| frame[4]["message"] == "Subscribed to PostgreSQL");
    }

    /// The key of the next new row.
    pub(crate) fn next_id(&mut self) -> i64 {
        let frame = self.until(|frame| frame[4]["data"]["type"] == "INSERT");
        frame[4]["data"]["record"]["id"].as_i64().expect("a key")
    }

    /// Reads up to the frame that is waited for; says now and then that it is there.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        let mut beat = Instant::now();
        let stream = self.0.get_ref();
        let timeout = stream.set_read_timeout(Some(Duration::from_secs(5)));
        timeout.expect("a time limit");
        loop {
            assert!(began.elapsed() < TIMEOUT, "nothing arrives");
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
