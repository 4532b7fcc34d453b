//! Clients that write all the time, and go on after every failure.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, task::JoinSet};

use super::{
    acknowledged::{Acknowledged, Kind, Success},
    client::{Client, Response},
};
use crate::start::program::{Installation, Status};

/// Clients of each kind, and their pause after a request: enough to keep the server busy on two cores, without
/// starving its recovery.
const CLIENTS: [(Kind, usize, Duration); 4] = [
    (Kind::Row, 4, Duration::from_millis(5)),
    (Kind::File, 2, Duration::from_millis(20)),
    (Kind::Session, 1, Duration::from_millis(30)),
    (Kind::Call, 1, Duration::from_millis(20)),
];
/// After a failure.
const RETRY_DELAY: Duration = Duration::from_millis(20);

const JSON: &str = "application/json";

/// The load in words.
pub(super) fn description() -> String {
    let [rows, files, sessions, calls] = CLIENTS.map(|(_, count, _)| count);
    format!(
        "clients that insert rows: {rows}, upload files: {files}, open and refresh sessions: {sessions}, \
         call a function: {calls}"
    )
}

/// How the server is reached.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) port: u16,
    /// The service role's, as a token.
    pub(super) key: String,
    pub(super) db_url: String,
}

impl Server {
    pub(super) fn of(installation: &Installation, status: &Status) -> anyhow::Result<Self> {
        Ok(Self {
            port: installation.port(),
            key: status.notes("SERVICE_ROLE_KEY")?,
            db_url: status.notes("DB_URL")?,
        })
    }

    pub(super) fn client(&self) -> Client {
        Client::new(self.port, &self.key)
    }
}

/// The clients at work.
pub(super) struct Load {
    clients: JoinSet<()>,
    is_stopping: Arc<AtomicBool>,
}

impl Load {
    pub(super) fn start(
        runtime: &Runtime,
        server: &Server,
        acknowledged: &Arc<Acknowledged>,
    ) -> Self {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let numbers = Arc::new(AtomicU64::new(1));
        let mut clients = JoinSet::new();
        for (kind, count, pause) in CLIENTS {
            for _ in 0..count {
                let writer = Writer {
                    kind,
                    pause,
                    client: server.client(),
                    numbers: Arc::clone(&numbers),
                    acknowledged: Arc::clone(acknowledged),
                };
                clients.spawn_on(writer.run(Arc::clone(&is_stopping)), runtime.handle());
            }
        }
        Self {
            clients,
            is_stopping,
        }
    }

    pub(super) async fn stop(self) {
        self.is_stopping.store(true, Relaxed);
        self.clients.join_all().await;
    }
}

/// A request that was not acknowledged.
struct Failure {
    sent_at: Instant,
    /// A short text.
    how: String,
}

struct Writer {
    kind: Kind,
    pause: Duration,
    client: Client,
    numbers: Arc<AtomicU64>,
    acknowledged: Arc<Acknowledged>,
}

impl Writer {
    async fn run(mut self, is_stopping: Arc<AtomicBool>) {
        while !is_stopping.load(Relaxed) {
            let number = self.numbers.fetch_add(1, Relaxed);
            let pause = match self.write(number).await {
                Ok(()) => self.pause,
                Err(failure) => {
                    let Failure { sent_at, how } = failure;
                    self.acknowledged.record_failure(sent_at, self.kind, &how);
                    RETRY_DELAY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// One thing with a number of its own.
    async fn write(&mut self, number: u64) -> Result<(), Failure> {
        let sent_at = Instant::now();
        let success = match self.kind {
            Kind::Row => {
                let body = json!({ "id": number, "value": file_content(number) }).to_string();
                self.send("POST", "/rest/v1/faults", JSON, &body).await?;
                Success::Row(number.cast_signed())
            }
            Kind::File => {
                let name = format!("{number}.txt");
                let path = format!("/storage/v1/object/faults/{name}");
                self.send("POST", &path, "text/plain", &file_content(number))
                    .await?;
                Success::File(name)
            }
            Kind::Session => return self.open_session(number).await,
            Kind::Call => {
                self.send("GET", "/functions/v1/echo", JSON, "").await?;
                Success::Call
            }
        };
        self.acknowledged.record(sent_at, success);
        Ok(())
    }

    /// Signs a user up, and then refreshes the session.
    async fn open_session(&mut self, number: u64) -> Result<(), Failure> {
        let mut path = "/auth/v1/signup";
        let mut body = "{}".to_owned();
        for _ in 0..2 {
            let sent_at = Instant::now();
            let response = self.send("POST", path, JSON, &body).await?;
            let refresh_token = refresh_token(&response).map_err(|error| Failure {
                sent_at,
                how: error.to_string(),
            })?;
            body = json!({ "refresh_token": refresh_token }).to_string();
            path = "/auth/v1/token?grant_type=refresh_token";
            let success = Success::Session {
                number,
                refresh_token,
            };
            self.acknowledged.record(sent_at, success);
        }
        Ok(())
    }

    async fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> Result<Response, Failure> {
        let sent_at = Instant::now();
        let how = match self.client.send(method, path, content_type, body).await {
            Ok(response) if (200..300).contains(&response.status) => return Ok(response),
            Ok(response) => response.status.to_string(),
            Err(_) => "without response".to_owned(),
        };
        Err(Failure { sent_at, how })
    }
}

/// A file's content by its number.
pub(super) fn file_content(number: u64) -> String {
    format!("content of {number}; ").repeat(20)
}

fn refresh_token(response: &Response) -> anyhow::Result<String> {
    let session: Value = serde_json::from_slice(&response.body)?;
    let token = session["refresh_token"].as_str();
    token.map(str::to_owned).context("no refresh token")
}
