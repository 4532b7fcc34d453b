//! Access log of the process: one line per request, in the format of its other log lines.
//!
//! There may be thousands of requests per second, so these lines bypass `tracing`: the log store's
//! writer thread echoes its records, a batch at a time.

use std::{
    borrow::Cow,
    io::{Write, stderr, stdout},
    time::Instant,
};

use plinth_log::{AccessLine, Echo, Level, Record, Source};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{ServerMode, logging};

/// The target of these lines in `PLINTH_LOG`.
const TARGET: &str = "plinth::access";

#[derive(Debug)]
pub(super) struct AccessLog {
    mode: ServerMode,
    has_colour: bool,
    began: Instant,
    lines: Vec<u8>,
}

impl AccessLog {
    /// `None` if `PLINTH_LOG` filters these lines out.
    pub(super) fn if_enabled(mode: ServerMode) -> Option<Self> {
        let is_enabled = tracing::enabled!(target: TARGET, tracing::Level::INFO);
        is_enabled.then(|| Self {
            mode,
            has_colour: logging::wants_colour(),
            began: Instant::now(),
            lines: Vec::new(),
        })
    }

    /// `   1.234567890s  INFO GET /rest/v1/todos 200 request_id=… project=… client=… duration_ms=…`
    fn write_text(&mut self, line: &AccessLine<'_>) -> std::io::Result<()> {
        let up = self.began.elapsed();
        let (dim, paint, plain) = match (self.has_colour, line.level) {
            (false, _) => ("", "", ""),
            (true, Level::Error) => ("\x1b[2m", "\x1b[31m", "\x1b[0m"),
            (true, Level::Warn) => ("\x1b[2m", "\x1b[33m", "\x1b[0m"),
            (true, _) => ("\x1b[2m", "\x1b[32m", "\x1b[0m"),
        };
        let (seconds, nanos) = (up.as_secs(), up.subsec_nanos());
        write!(
            self.lines,
            "{dim}{seconds:4}.{nanos:09}s{plain} {paint}{:>5}{plain} ",
            level_name(line.level),
        )?;
        // The formatting machinery would take longer.
        let mut add = |text: &str| self.lines.extend_from_slice(text.as_bytes());
        add(line.message);
        for (name, value) in [
            (" request_id=", line.request_id.as_deref()),
            (" project=", Some(line.project)),
            (" client=", line.client),
            (" duration_ms=", line.duration_ms),
        ] {
            if let Some(value) = value {
                add(name);
                add(value);
            }
        }
        add("\n");
        Ok(())
    }

    fn write_json(&mut self, line: &AccessLine<'_>) -> std::io::Result<()> {
        let line = JsonLine {
            timestamp: line.time,
            level: level_name(line.level),
            fields: JsonFields {
                message: line.message,
                request_id: line.request_id.as_deref(),
                project: line.project,
                client: line.client,
                duration_ms: line.duration_ms.map(serde_json::from_str).transpose()?,
            },
            target: TARGET,
        };
        serde_json::to_writer(&mut self.lines, &line)?;
        self.lines.write_all(b"\n")
    }
}

/// The JSON format of `tracing_subscriber`.
#[derive(Serialize)]
struct JsonLine<'a> {
    timestamp: plinth_log::Timestamp,
    level: &'static str,
    fields: JsonFields<'a>,
    target: &'static str,
}

#[derive(Serialize)]
struct JsonFields<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    project: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<&'a RawValue>,
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Trace => "TRACE",
        Level::Debug => "DEBUG",
        Level::Info => "INFO",
        Level::Warn => "WARN",
        Level::Error => "ERROR",
    }
}

impl Echo for AccessLog {
    fn show(&mut self, record: &Record) {
        // Only access records have a status; other records were logged where they were written. A
        // function call has an access record of its own in addition to the edge's.
        let is_request = record.fields.contains_key("status");
        if !is_request || record.source == Source::Functions {
            return;
        }
        let duration = record.fields.get("duration_ms").map(Value::to_string);
        self.show_access(&AccessLine {
            time: record.time,
            level: record.level,
            message: &record.message,
            request_id: record.request_id.as_deref().map(Cow::Borrowed),
            project: &record.project,
            client: record.fields.get("client").and_then(Value::as_str),
            duration_ms: duration.as_deref(),
        });
    }

    fn show_access(&mut self, line: &AccessLine<'_>) {
        // Writing to memory cannot fail.
        _ = match self.mode {
            ServerMode::Development => self.write_text(line),
            ServerMode::Production => self.write_json(line),
        };
    }

    fn flush(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        // A closed pipe is no error.
        _ = match self.mode {
            ServerMode::Development => stderr().lock().write_all(&self.lines),
            ServerMode::Production => stdout().lock().write_all(&self.lines),
        };
        self.lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use plinth_log::Timestamp;

    use super::*;

    fn lines(mode: ServerMode, has_colour: bool) -> AccessLog {
        AccessLog {
            mode,
            has_colour,
            began: Instant::now(),
            lines: Vec::new(),
        }
    }

    fn request(status: u16, level: Level) -> Record {
        Record::new(Source::Api, level, format!("GET /rest/v1/todos {status}"))
            .at(Timestamp::from_micros(1_785_578_400_000_001))
            .project("shop")
            .request_id("r1")
            .field("status", status)
            .field("client", "127.0.0.1")
            .field("duration_ms", 1.5)
    }

    fn shown(mut lines: AccessLog, record: &Record) -> String {
        lines.show(record);
        String::from_utf8(lines.lines).expect("text")
    }

    #[test]
    fn development_has_one_text_line_per_request() {
        let text = shown(
            lines(ServerMode::Development, false),
            &request(200, Level::Info),
        );

        let (up, line) = text.split_once("s ").expect("a time");
        assert!(up.trim().starts_with("0."), "{up}");
        assert_eq!(
            line,
            " INFO GET /rest/v1/todos 200 request_id=r1 project=shop client=127.0.0.1 \
             duration_ms=1.5\n"
        );
        let text = shown(
            lines(ServerMode::Development, true),
            &request(404, Level::Warn),
        );
        assert!(text.contains("\x1b[33m WARN\x1b[0m GET"), "{text}");
    }

    #[test]
    fn production_has_json_like_other_lines() {
        let text = shown(
            lines(ServerMode::Production, false),
            &request(500, Level::Error),
        );

        assert_eq!(
            text,
            "{\"timestamp\":\"2026-08-01T10:00:00.000001Z\",\"level\":\"ERROR\",\"fields\":\
             {\"message\":\"GET /rest/v1/todos 500\",\"request_id\":\"r1\",\"project\":\"shop\",\
             \"client\":\"127.0.0.1\",\"duration_ms\":1.5},\"target\":\"plinth::access\"}\n"
        );
    }

    #[test]
    fn other_records_are_not_repeated() {
        let record = Record::new(Source::Auth, Level::Info, "signed in").project("shop");

        assert_eq!(shown(lines(ServerMode::Development, false), &record), "");
    }
}
