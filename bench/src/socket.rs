//! A blocking connection that knows just enough of the protocol to log in and to count responses.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    time::Duration,
};

use anyhow::{Context as _, bail};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::{
    authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
    message::{
        backend::{ErrorResponseBody, Message},
        frontend,
    },
};

use crate::managed::Login;

/// Read timeout.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Socket {
    stream: UnixStream,
    received: BytesMut,
}

impl Socket {
    pub(crate) fn connect(login: &Login) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(&login.socket)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let mut socket = Self {
            stream,
            received: BytesMut::with_capacity(16 * 1024),
        };
        let mut out = BytesMut::new();
        let parameters = [
            ("user", &*login.user),
            ("database", &*login.database),
            ("client_encoding", "UTF8"),
        ];
        frontend::startup_message(parameters, &mut out)?;
        socket.send(&out)?;
        socket.authenticate(&login.password)?;
        socket.rows_until_ready(1)?;
        Ok(socket)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Reads until this many ReadyForQuery messages; returns the number of rows.
    pub(crate) fn rows_until_ready(&mut self, times: usize) -> anyhow::Result<usize> {
        let (mut rows, mut ready) = (0, 0);
        while ready < times {
            match self.receive()? {
                Message::ReadyForQuery(_) => ready += 1,
                Message::DataRow(_) => rows += 1,
                Message::ErrorResponse(body) => bail!("PostgreSQL says: {}", error_text(&body)),
                _ => {}
            }
        }
        Ok(rows)
    }

    fn receive(&mut self) -> anyhow::Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.received)? {
                return Ok(message);
            }
            let mut part = [0; 8192];
            let count = self.stream.read(&mut part)?;
            if count == 0 {
                bail!("PostgreSQL closed the connection");
            }
            self.received.extend_from_slice(&part[..count]);
        }
    }

    fn authenticate(&mut self, password: &str) -> anyhow::Result<()> {
        let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        loop {
            let mut out = BytesMut::new();
            match self.receive()? {
                Message::AuthenticationOk => return Ok(()),
                Message::AuthenticationSasl(_) => {
                    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut out)?;
                }
                Message::AuthenticationSaslContinue(body) => {
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut out)?;
                }
                Message::AuthenticationSaslFinal(body) => scram.finish(body.data())?,
                Message::ErrorResponse(body) => bail!("PostgreSQL says: {}", error_text(&body)),
                _ => bail!("PostgreSQL asks for something else than a SCRAM password"),
            }
            self.send(&out).context("the login was interrupted")?;
        }
    }
}

fn error_text(body: &ErrorResponseBody) -> String {
    let message = body
        .fields()
        .find(|field| Ok(field.type_() == b'M'))
        .ok()
        .flatten();
    message.map_or_else(
        || "an error without words".to_owned(),
        |field| String::from_utf8_lossy(field.value_bytes()).into_owned(),
    )
}
