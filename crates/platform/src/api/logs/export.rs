//! `GET …/logs/export`: matches as a file of JSON lines or CSV.

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    response::IntoResponse,
};
use futures_util::stream;
use plinth_log::{LogStore, MAX_LIMIT, Query, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{LogParams, Operator, RecordBody, failed, project_of, scope};
use crate::{
    Platform, PlatformError,
    api::{
        body::{Params, Segments, needed},
        openapi::Untyped,
    },
};

/// A file of more records is cut.
const MAX_RECORDS: usize = 1_000_000;
/// Pages that wait for a slow reader.
const QUEUED_PAGES: usize = 2;

#[derive(Deserialize, Serialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(in crate::api) enum ExportFormat {
    Ndjson,
    Csv,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::api) struct ExportParams {
    /// Required.
    #[serde(default)]
    format: Option<ExportFormat>,
    /// Comma list; all when absent.
    #[serde(default)]
    source: Option<String>,
    /// Terms of the query bar.
    #[serde(default)]
    q: Option<String>,
    /// RFC 3339; not before it.
    #[serde(default)]
    since: Option<String>,
    /// RFC 3339; before it.
    #[serde(default)]
    until: Option<String>,
    /// This level or a worse one.
    #[serde(default)]
    level: Option<String>,
}

/// Newest first, at most a million records. A download that breaks ends the search.
pub(in crate::api) async fn export(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<ExportParams>,
) -> Result<Untyped, PlatformError> {
    let project = project_of(&operator, &platform, &text).await?;
    let format = needed("format", params.format)?;
    let params = LogParams {
        source: params.source,
        q: params.q,
        since: params.since,
        until: params.until,
        level: params.level,
        cursor: None,
        limit: Some(MAX_LIMIT),
    };
    let query = params.to_query(scope(&platform, &project))?;
    let (sender, receiver) = mpsc::channel(QUEUED_PAGES);
    let logs = platform.0.logs.clone();
    let shutdown = platform.0.shutdown.clone();
    tokio::task::spawn_blocking(move || write_pages(&logs, query, format, &sender));
    let pages = stream::unfold((receiver, shutdown), async |(mut receiver, shutdown)| {
        let page = shutdown.run_until_cancelled(receiver.recv()).await??;
        Some((page, (receiver, shutdown)))
    });
    let (kind, name) = match format {
        ExportFormat::Ndjson => ("application/x-ndjson", "logs.ndjson"),
        ExportFormat::Csv => ("text/csv; charset=utf-8", "logs.csv"),
    };
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    Ok(Untyped((headers, Body::from_stream(pages)).into_response()))
}

type PageSender = mpsc::Sender<Result<Bytes, PlatformError>>;

fn write_pages(logs: &LogStore, mut query: Query, format: ExportFormat, sender: &PageSender) {
    let mut written = 0;
    let mut text = match format {
        ExportFormat::Ndjson => Vec::new(),
        ExportFormat::Csv => b"time,level,source,message,request_id,fields\r\n".to_vec(),
    };
    loop {
        let page = match logs.search(&query) {
            Ok(page) => page,
            // The response has begun: breaking it off shows that it is incomplete.
            Err(error) => return drop(sender.blocking_send(Err(failed(error)))),
        };
        written += page.records.len();
        for record in page.records {
            match format {
                ExportFormat::Ndjson => write_json(record, &mut text),
                ExportFormat::Csv => write_csv(&record, &mut text),
            }
        }
        let is_sent = sender.blocking_send(Ok(std::mem::take(&mut text).into()));
        query.cursor = page.next;
        if is_sent.is_err() || query.cursor.is_none() || written >= MAX_RECORDS {
            return;
        }
    }
}

fn write_json(record: Record, text: &mut Vec<u8>) {
    let body = RecordBody::new(record, None);
    if serde_json::to_writer(&mut *text, &body).is_ok() {
        text.push(b'\n');
    }
}

/// RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe.
fn write_csv(record: &Record, text: &mut Vec<u8>) {
    let fields = serde_json::to_string(&record.fields).unwrap_or_default();
    let time = record.time.to_string();
    let cells = [
        time.as_str(),
        record.level.as_str(),
        record.source.as_str(),
        &record.message,
        record.request_id.as_deref().unwrap_or_default(),
        &fields,
    ];
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.push(b'"');
        if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
            text.push(b'\'');
        }
        text.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
        text.push(b'"');
    }
    text.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use plinth_log::{Level, Source};

    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formulas() {
        let record = Record::new(Source::Rest, Level::Warn, "=1+1 \"quoted\", twice\nlines");
        let mut text = Vec::new();

        write_csv(&record, &mut text);

        let text = String::from_utf8(text).expect("text");
        let expected = "\"warn\",\"rest\",\"'=1+1 \"\"quoted\"\", twice\nlines\",\"\",\"{}\"\r\n";
        assert!(text.ends_with(expected), "{text}");
    }
}
