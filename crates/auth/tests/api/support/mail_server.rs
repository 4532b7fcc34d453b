//! A mail server that stores received mails.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// How the server behaves.
#[derive(Clone, Default)]
pub(crate) struct Behaviour {
    /// Offers `AUTH PLAIN LOGIN`; with TLS, only inside of it.
    pub(crate) asks_for_password: bool,
    /// Offers `STARTTLS`.
    pub(crate) tls: Option<TlsAcceptor>,
    /// Starts with TLS, as on port 465.
    pub(crate) begins_with_tls: bool,
    /// Offers `STARTTLS` and then closes the connection.
    pub(crate) breaks_tls: bool,
    /// Rejects all recipients.
    pub(crate) rejects_recipients: bool,
    /// How long it takes to accept a mail.
    pub(crate) delay: Duration,
}

/// A received mail.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) is_in_tls: bool,
    /// User name and password, if they were sent.
    pub(crate) login: Option<(String, String)>,
    /// Headers and body.
    pub(crate) data: String,
}

impl Received {
    /// The value of a header, its continued lines joined.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let head = self.data.split("\r\n\r\n").next()?.replace("\r\n ", " ");
        let mut lines = head.split("\r\n");
        lines.find_map(|line| {
            let (found, value) = line.split_once(':')?;
            let is_it = found.eq_ignore_ascii_case(name);
            is_it.then(|| value.trim().to_owned())
        })
    }

    /// The body of the part of this type, decoded.
    pub(crate) fn part(&self, content_type: &str) -> String {
        let at = self.data.find(&format!("Content-Type: {content_type}"));
        let part = &self.data[at.expect("a part of this type")..];
        let (head, body) = part.split_once("\r\n\r\n").expect("a head and a body");
        let body = body.split("\r\n--").next().expect("the body's end");
        match head.to_lowercase() {
            head if head.contains("quoted-printable") => unquoted(body),
            head if head.contains("base64") => {
                let bytes = STANDARD.decode(body.replace("\r\n", "")).expect("base64");
                String::from_utf8(bytes).expect("UTF-8")
            }
            _ => body.to_owned(),
        }
    }
}

fn unquoted(body: &str) -> String {
    let body = body.replace("=\r\n", "");
    let mut bytes = Vec::new();
    let mut rest = body.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        match (first, after) {
            (b'=', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("ASCII");
                bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}

/// A running server; it ends with the test.
pub(crate) struct MailServer {
    pub(crate) port: u16,
    received: Arc<Mutex<Vec<Received>>>,
    /// All lines from clients.
    received_lines: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl MailServer {
    /// Listens on all local addresses.
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").await.expect("a free port");
        Self::over(listener, behaviour)
    }

    /// Uses an existing listener.
    pub(crate) fn over(listener: TcpListener, behaviour: Behaviour) -> Self {
        let port = listener.local_addr().expect("an address").port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let received_lines = Arc::new(Mutex::new(Vec::new()));
        let (mails, lines) = (received.clone(), received_lines.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (mails, lines) = (mails.clone(), lines.clone());
                tokio::spawn(serve(behaviour.clone(), stream, mails, lines));
            }
        });
        Self {
            port,
            received,
            received_lines,
            task,
        }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no panics").clone()
    }

    pub(crate) fn received_lines(&self) -> Vec<String> {
        self.received_lines.lock().expect("no panics").clone()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves one client.
async fn serve(
    behaviour: Behaviour,
    stream: TcpStream,
    received: Arc<Mutex<Vec<Received>>>,
    received_lines: Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    let talk = Connection {
        behaviour,
        is_in_tls: false,
        stream: BufReader::new(stream),
        received,
        received_lines,
    };
    if talk.behaviour.begins_with_tls {
        let mut talk = talk.into_tls().await?;
        talk.send_line("220 test").await?;
        return talk.run().await.map(|_| ());
    }
    let mut talk = talk;
    talk.send_line("220 test").await?;
    match talk.run().await? {
        Ended::Hung => Some(()),
        Ended::WantsTls => talk.into_tls().await?.run().await.map(|_| ()),
    }
}

/// One connection.
struct Connection<S> {
    behaviour: Behaviour,
    is_in_tls: bool,
    stream: BufReader<S>,
    received: Arc<Mutex<Vec<Received>>>,
    received_lines: Arc<Mutex<Vec<String>>>,
}

/// Why a connection ended.
#[derive(PartialEq, Eq)]
enum Ended {
    Hung,
    WantsTls,
}

impl Connection<TcpStream> {
    /// Upgrades to TLS; `None` without TLS.
    async fn into_tls(self) -> Option<Connection<TlsStream<TcpStream>>> {
        let acceptor = self.behaviour.tls.clone()?;
        let stream = acceptor.accept(self.stream.into_inner()).await.ok()?;
        Some(Connection {
            behaviour: self.behaviour,
            is_in_tls: true,
            stream: BufReader::new(stream),
            received: self.received,
            received_lines: self.received_lines,
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run(&mut self) -> Option<Ended> {
        let mut mail = Received {
            is_in_tls: self.is_in_tls,
            ..Received::default()
        };
        loop {
            let line = self.read_line().await?;
            let verb = line.split(' ').next().unwrap_or_default().to_uppercase();
            match verb.as_str() {
                "EHLO" => self.greet().await?,
                "STARTTLS" => {
                    self.send_line("220 go on").await?;
                    return Some(Ended::WantsTls);
                }
                "AUTH" => mail.login = Some(self.log_in(&line).await?),
                "MAIL" => {
                    mail.from = address(&line);
                    self.send_line("250 ok").await?;
                }
                "RCPT" if self.behaviour.rejects_recipients => {
                    self.send_line("550 nobody of that name").await?;
                }
                "RCPT" => {
                    mail.to.push(address(&line));
                    self.send_line("250 ok").await?;
                }
                "DATA" => {
                    self.send_line("354 go on").await?;
                    mail.data = self.read_data().await?;
                    self.received.lock().expect("no panics").push(mail.clone());
                    tokio::time::sleep(self.behaviour.delay).await;
                    self.send_line("250 kept").await?;
                }
                "QUIT" => {
                    self.send_line("221 bye").await?;
                    return Some(Ended::Hung);
                }
                _ => self.send_line("250 ok").await?,
            }
        }
    }

    async fn greet(&mut self) -> Option<()> {
        let offers_tls = self.behaviour.tls.is_some() || self.behaviour.breaks_tls;
        if offers_tls && !self.is_in_tls {
            self.send_line("250-STARTTLS").await?;
        }
        if self.behaviour.asks_for_password && (self.is_in_tls || !offers_tls) {
            self.send_line("250-AUTH PLAIN LOGIN").await?;
        }
        self.send_line("250 8BITMIME").await
    }

    /// `AUTH PLAIN <base64 of NUL user NUL password>`
    async fn log_in(&mut self, line: &str) -> Option<(String, String)> {
        let shown = STANDARD.decode(line.split(' ').nth(2)?).ok()?;
        let shown = String::from_utf8(shown).ok()?;
        let mut parts = shown.split('\0').skip(1);
        let login = (parts.next()?.to_owned(), parts.next()?.to_owned());
        self.send_line("235 welcome").await?;
        Some(login)
    }

    async fn read_data(&mut self) -> Option<String> {
        let mut data = String::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.ok()?;
            match line.as_str() {
                ".\r\n" => return Some(data),
                "" => return None,
                line => data.push_str(line.strip_prefix("..").map_or(line, |_| &line[1..])),
            }
        }
    }

    async fn read_line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.ok()?;
        let line = line.trim_end().to_owned();
        self.received_lines
            .lock()
            .expect("no panics")
            .push(line.clone());
        (!line.is_empty()).then_some(line)
    }

    async fn send_line(&mut self, line: &str) -> Option<()> {
        let line = format!("{line}\r\n");
        self.stream.write_all(line.as_bytes()).await.ok()?;
        self.stream.flush().await.ok()
    }
}

fn address(line: &str) -> String {
    let inside = line.split_once('<').map_or("", |(_, rest)| rest);
    inside.split('>').next().unwrap_or_default().to_owned()
}
