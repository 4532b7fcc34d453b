//! `/platform/projects/{ref}/data/export`: rows as a file, streamed (console contract N59).

use std::{io, time::Duration};

use axum::{
    body::{Body as HttpBody, Bytes},
    extract::State,
    http::header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt as _, stream};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plinth_query::{ExportFormat, ExportRequest, ExportStatement, TextUnescaper};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_postgres::Client;

use super::{
    Operator,
    body::{Body, Segments},
    data::{Opened, WithSubject, end, open},
    subject::{RowAccess, Subject, begin, role_error},
};
use crate::{Platform, PlatformError};

/// Pieces of the file that wait for the client.
const MAX_WAITING_PIECES: usize = 4;
/// Rows arrive one by one and are sent in pieces of this size.
const PIECE_BYTES: usize = 64 * 1024;
/// How long a client that does not read is told that there will be no more.
const BREAK_OFF_TIMEOUT: Duration = Duration::from_secs(1);

/// `POST …/data/export`: a table, or what of it is shown, as a file. A response that breaks off is
/// incomplete.
pub(super) async fn export(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<WithSubject<ExportRequest>>,
) -> Result<Response, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let WithSubject { request, subject } = body;
    let subject = subject.as_ref();
    let mut tx = begin(&opened.project, opened.access, subject, RowAccess::Read).await?;
    let statement = plinth_query::export_statement(&mut tx, &request).await;
    end(tx.rollback().await);
    let statement = statement?;
    let session = Session::open(&opened, subject).await?;
    // Errors that PostgreSQL finds before the first row become a status.
    let rows = session.client().copy_out(&*statement.sql).await;
    let rows = rows.map_err(plinth_query::QueryError::from)?;
    let details = json!({
        "schema": request.relation.schema,
        "table": request.relation.name,
        "format": request.format,
        "as": subject.map(|subject| &subject.role),
    });
    let reference = &opened.reference;
    platform
        .audit(&operator, Some(reference), "data.export", details)
        .await;
    let (sender, receiver) = mpsc::channel(MAX_WAITING_PIECES);
    let shutdown = platform.0.shutdown.clone();
    let format = request.format;
    let tasks = platform.0.tasks.clone();
    tasks.spawn(async move {
        tokio::select! {
            () = send_rows(rows, &statement, format, &sender) => {}
            // Dropping the sender would look like the end of the file.
            () = shutdown.cancelled() => break_off(&sender).await,
            () = operator.until_token_ends(platform) => break_off(&sender).await,
        }
        // Dropped here: the session lives as long as its rows are read.
        drop(session);
    });
    let name = format!("{}.{}", request.relation.name, request.format.extension());
    let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
    let headers = [
        (CONTENT_TYPE, request.format.media_type().to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename*=UTF-8''{name}"),
        ),
    ];
    let body = stream::unfold(receiver, async |mut receiver| {
        let piece: Result<Bytes, io::Error> = receiver.recv().await?;
        Some((piece, receiver))
    });
    Ok((headers, HttpBody::from_stream(body)).into_response())
}

/// Ends a response so that its client notices that it is incomplete.
async fn break_off(sender: &mpsc::Sender<Result<Bytes, io::Error>>) {
    let error = io::Error::from(io::ErrorKind::ConnectionAborted);
    _ = tokio::time::timeout(BREAK_OFF_TIMEOUT, sender.send(Err(error))).await;
}

async fn send_rows(
    rows: tokio_postgres::CopyOutStream,
    statement: &ExportStatement,
    format: ExportFormat,
    sender: &mpsc::Sender<Result<Bytes, io::Error>>,
) {
    let mut rows = std::pin::pin!(rows);
    let mut unescaper = TextUnescaper::new(format);
    let mut piece = bytes::BytesMut::with_capacity(2 * PIECE_BYTES);
    while let Some(row) = rows.next().await {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                let reason = plinth_db::describe(&error);
                tracing::warn!("an export broke off: {reason}");
                _ = sender.send(Err(io::Error::other(reason))).await;
                return;
            }
        };
        if statement.is_escaped {
            piece.extend_from_slice(&unescaper.push(&row));
        } else {
            piece.extend_from_slice(&row);
        }
        if piece.len() >= PIECE_BYTES && sender.send(Ok(piece.split().freeze())).await.is_err() {
            return;
        }
    }
    if statement.is_escaped {
        piece.extend_from_slice(&unescaper.finish());
    }
    _ = sender.send(Ok(piece.freeze())).await;
}

/// The session that COPY runs in.
enum Session {
    Operator(plinth_project::OperatorSession),
    Caller(plinth_project::LoginConnection),
}

impl Session {
    async fn open(opened: &Opened, subject: Option<&Subject>) -> Result<Self, PlatformError> {
        let Opened {
            project, access, ..
        } = opened;
        let settings = "begin read only; set local statement_timeout = 0;
            set local datestyle = 'ISO, MDY'; set local intervalstyle = postgres;
            set local bytea_output = hex; set local extra_float_digits = 1";
        let Some(subject) = subject else {
            let session = project.db.session_as_operator(*access).await?;
            session.batch_execute(plinth_query::WATCH_CLIENT).await?;
            session.batch_execute(settings).await?;
            return Ok(Self::Operator(session));
        };
        subject.caller(*access)?;
        let session = project.db.as_login().await?;
        session.batch_execute(plinth_query::WATCH_CLIENT).await?;
        session.batch_execute(settings).await?;
        let sql = "select pg_catalog.set_config('request.jwt.claims', $1, true),
                          pg_catalog.set_config('role', $2, true)";
        let claims = subject.claims_text();
        let set = session.query(sql, &[&claims, &subject.role]).await;
        set.map_err(|error| role_error(error.into(), &subject.role))?;
        Ok(Self::Caller(session))
    }

    fn client(&self) -> &Client {
        match self {
            Self::Operator(session) => session,
            Self::Caller(session) => session,
        }
    }
}
