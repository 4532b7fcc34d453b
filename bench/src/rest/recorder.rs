//! Records what a program sends to PostgreSQL: a proxy socket that forwards everything and parses the
//! statements.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{UnixListener, UnixStream},
    task::JoinHandle,
};

use crate::work_folder;

/// One statement and the values it was run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) sql: String,
    /// `None` for NULL and for what is no text.
    pub(crate) values: Vec<Option<String>>,
}

impl Sent {
    pub(crate) fn has_value(&self, value: &str) -> bool {
        self.values.iter().flatten().any(|sent| sent == value)
    }
}

/// What was sent, each statement after the number of its connection.
type Recorded = Vec<(usize, Sent)>;

/// Listens until it is dropped.
pub(crate) struct Recorder {
    folder: TempDir,
    sent: Arc<Mutex<Recorded>>,
    listening: JoinHandle<()>,
}

impl Recorder {
    /// In front of this server's socket, under the same name.
    pub(crate) fn start(socket: &Path) -> anyhow::Result<Self> {
        let folder = work_folder::create()?;
        let name = socket.file_name().context("a socket without a name")?;
        let listener = UnixListener::bind(folder.path().join(name))?;
        let sent = Arc::default();
        let listening = tokio::spawn(listen(listener, socket.to_owned(), Arc::clone(&sent)));
        Ok(Self {
            folder,
            sent,
            listening,
        })
    }

    /// The folder to connect to.
    pub(crate) fn socket_dir(&self) -> &Path {
        self.folder.path()
    }

    /// The last whole transaction with this value, from BEGIN to COMMIT.
    pub(crate) fn last_transaction_with(&self, value: &str) -> anyhow::Result<Vec<Sent>> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        last_transaction_with(&sent, value)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn last_transaction_with(recorded: &Recorded, value: &str) -> anyhow::Result<Vec<Sent>> {
    let last = recorded
        .iter()
        .rev()
        .find(|(_, sent)| sent.has_value(value));
    let (connection, _) = last.with_context(|| format!("{value} was not sent"))?;
    let of_connection = recorded.iter().filter(|(number, _)| number == connection);
    let sent: Vec<&Sent> = of_connection.map(|(_, sent)| sent).collect();

    let is = |sent: &Sent, word| sent.sql.trim_start().to_lowercase().starts_with(word);
    let place = sent
        .iter()
        .rposition(|sent| sent.has_value(value))
        .unwrap_or_default();
    let begin = sent[..place].iter().rposition(|sent| is(sent, "begin"));
    let begin = begin.context("no BEGIN was sent")?;
    let end = sent[place..].iter().position(|sent| is(sent, "commit"));
    let end = place + end.context("no COMMIT was sent")?;
    Ok(sent[begin..=end]
        .iter()
        .map(|sent| (*sent).clone())
        .collect())
}

async fn listen(listener: UnixListener, socket: PathBuf, sent: Arc<Mutex<Recorded>>) {
    for number in 0.. {
        let Ok((client, _)) = listener.accept().await else {
            return;
        };
        if let Ok(server) = UnixStream::connect(&socket).await {
            // It ends with either side.
            tokio::spawn(pass_on(number, client, server, sent.clone()));
        }
    }
}

async fn pass_on(
    number: usize,
    client: UnixStream,
    server: UnixStream,
    sent: Arc<Mutex<Recorded>>,
) -> anyhow::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let responses = tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
    let mut session = Session::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from_client.read(&mut buffer).await?;
        if count == 0 {
            responses.abort();
            return Ok(());
        }
        let new = session.receive(&buffer[..count])?;
        sent.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(new.into_iter().map(|sent| (number, sent)));
        to_server.write_all(&buffer[..count]).await?;
    }
}

/// What one connection has said so far.
#[derive(Default)]
struct Session {
    has_started: bool,
    unread: Vec<u8>,
    prepared: HashMap<String, String>,
}

impl Session {
    /// The statements that these bytes complete.
    fn receive(&mut self, bytes: &[u8]) -> anyhow::Result<Vec<Sent>> {
        self.unread.extend_from_slice(bytes);
        let mut sent = Vec::new();
        loop {
            // The first message has no letter.
            let letters = usize::from(self.has_started);
            let Some(length) = self.unread.get(letters..letters + 4) else {
                return Ok(sent);
            };
            let length = usize::try_from(i32::from_be_bytes(length.try_into()?))?;
            ensure!(length >= 4, "a message shorter than its own length");
            if self.unread.len() < letters + length {
                return Ok(sent);
            }
            let message: Vec<u8> = self.unread.drain(..letters + length).collect();
            if self.has_started {
                sent.extend(self.message(message[0], Fields(&message[5..]))?);
            }
            self.has_started = true;
        }
    }

    fn message(&mut self, kind: u8, mut fields: Fields<'_>) -> anyhow::Result<Option<Sent>> {
        match kind {
            b'Q' => Ok(Some(Sent {
                sql: fields.text()?,
                values: Vec::new(),
            })),
            b'P' => {
                let (name, sql) = (fields.text()?, fields.text()?);
                self.prepared.insert(name, sql);
                Ok(None)
            }
            b'B' => {
                let (_portal, name) = (fields.text()?, fields.text()?);
                for _ in 0..fields.count()? {
                    fields.count()?;
                }
                let values = (0..fields.count()?).map(|_| fields.value()).collect();
                let sql = self.prepared.get(&name);
                Ok(Some(Sent {
                    sql: sql.context("a statement that was not prepared")?.clone(),
                    values: Result::from_iter::<Vec<anyhow::Result<_>>>(values)?,
                }))
            }
            _ => Ok(None),
        }
    }
}

/// The inside of a message.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn text(&mut self) -> anyhow::Result<String> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = self.take(end.context("a text without end")?)?;
        let text = str::from_utf8(text).context("a name that is no text")?;
        let text = text.to_owned();
        self.take(1)?;
        Ok(text)
    }

    fn count(&mut self) -> anyhow::Result<u16> {
        let (count, rest) = self.0.split_first_chunk().context("no number")?;
        self.0 = rest;
        Ok(u16::from_be_bytes(*count))
    }

    fn value(&mut self) -> anyhow::Result<Option<String>> {
        let (length, rest) = self.0.split_first_chunk().context("no length")?;
        self.0 = rest;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            return Ok(None);
        };
        let value = self.take(length)?;
        Ok(str::from_utf8(value).ok().map(str::to_owned))
    }

    fn take(&mut self, length: usize) -> anyhow::Result<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(length).context("too short")?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use postgres_protocol::{IsNull, message::frontend};

    use super::*;

    fn conversation() -> BytesMut {
        let mut bytes = BytesMut::new();
        frontend::startup_message([("user", "ada")], &mut bytes).unwrap();
        frontend::parse("s1", "select $1", [], &mut bytes).unwrap();
        frontend::query("begin read only", &mut bytes).unwrap();
        let value = |value: &str, out: &mut BytesMut| {
            out.extend_from_slice(value.as_bytes());
            Ok(IsNull::No)
        };
        let bound = frontend::bind("", "s1", [0], ["ü"], value, [1], &mut bytes);
        assert!(bound.is_ok());
        frontend::execute("", 0, &mut bytes).unwrap();
        frontend::sync(&mut bytes);
        frontend::query("COMMIT", &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn statements_are_recorded_with_their_values_however_the_bytes_arrive() {
        let sent = |sql: &str, values: &[&str]| Sent {
            sql: sql.to_owned(),
            values: values.iter().map(|&value| Some(value.to_owned())).collect(),
        };
        let mut session = Session::default();
        let pieces = conversation();
        let pieces = pieces
            .chunks(3)
            .map(|piece| session.receive(piece).unwrap());
        let recorded: Vec<Sent> = pieces.flatten().collect();
        let expected = [
            sent("begin read only", &[]),
            sent("select $1", &["ü"]),
            sent("COMMIT", &[]),
        ];
        assert_eq!(recorded, expected);
    }

    #[test]
    fn a_transaction_is_that_of_one_connection() {
        let sent = |connection: usize, sql: &str, value: Option<&str>| {
            let values = vec![value.map(str::to_owned)];
            let sql = sql.to_owned();
            (connection, Sent { sql, values })
        };
        let recorded = vec![
            sent(0, "begin", None),
            sent(1, "begin", None),
            sent(0, "select $1", Some("7")),
            sent(1, "select 2", None),
            sent(1, "commit", None),
            sent(0, "COMMIT", None),
            sent(0, "begin", None),
        ];

        let found = last_transaction_with(&recorded, "7").unwrap();

        let found: Vec<&str> = found.iter().map(|sent| sent.sql.as_str()).collect();
        assert_eq!(found, ["begin", "select $1", "COMMIT"]);
        assert!(last_transaction_with(&recorded, "8").is_err());
        assert!(last_transaction_with(&recorded[..5].to_vec(), "7").is_err());
    }
}
