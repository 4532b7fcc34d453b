//! A server over a pipe that answers with the error it is told.

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_postgres::{Config, NoTls, error::DbError};

/// An error as Postgres reports it: SQLSTATE, message, and perhaps detail and hint.
#[derive(Clone, Copy)]
pub(super) struct Raised<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
    pub(super) detail: Option<&'a str>,
    pub(super) hint: Option<&'a str>,
}

pub(super) fn raised<'a>(code: &'a str, message: &'a str) -> Raised<'a> {
    Raised {
        code,
        message,
        detail: None,
        hint: None,
    }
}

/// The driver alone can make such an error, from what a server sends.
pub(super) fn db_error(raised: Raised<'_>) -> DbError {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let (ours, theirs) = tokio::io::duplex(4096);
        let mut config = Config::new();
        config.user("nobody");
        let (connected, ()) = tokio::join!(config.connect_raw(ours, NoTls), refuse(theirs, raised));
        let error = connected.err().expect("refused");
        error.as_db_error().expect("an error of Postgres").clone()
    })
}

/// Answers the first message with an error.
async fn refuse(mut client: DuplexStream, raised: Raised<'_>) {
    let length = client.read_u32().await.expect("a length") as usize;
    let mut startup = vec![0; length - 4];
    client.read_exact(&mut startup).await.expect("a message");
    let mut fields = Vec::new();
    let given = [
        (b'S', Some("ERROR")),
        (b'V', Some("ERROR")),
        (b'C', Some(raised.code)),
        (b'M', Some(raised.message)),
        (b'D', raised.detail),
        (b'H', raised.hint),
    ];
    for (kind, text) in given {
        if let Some(text) = text {
            fields.push(kind);
            fields.extend(text.as_bytes());
            fields.push(0);
        }
    }
    fields.push(0);
    client.write_u8(b'E').await.expect("a type");
    client
        .write_u32(fields.len() as u32 + 4)
        .await
        .expect("a length");
    client.write_all(&fields).await.expect("the fields");
}
