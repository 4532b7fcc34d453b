//! A line per request in the process's own log, in the form of its other lines.
//!
//! Requests are the one thing of which there can be thousands per second, so their lines do not
//! take the way through `tracing`: the log store's writer shows its records, a batch at a time.

use std::{
    io::{Write, stderr, stdout},
    time::Instant,
};

use plinth_log::{Echo, Level, Record, Source};
use serde::Serialize;
use serde_json::Value;

use super::{Form, observe};

/// What `PLINTH_LOG` calls these lines.
const TARGET: &str = "plinth::access";

#[derive(Debug)]
pub(super) struct AccessLines {
    form: Form,
    has_colour: bool,
    began: Instant,
    lines: Vec<u8>,
}

impl AccessLines {
    /// Nothing if `PLINTH_LOG` does not want them.
    pub(super) fn wanted(form: Form) -> Option<Self> {
        let is_wanted = tracing::enabled!(target: TARGET, tracing::Level::INFO);
        is_wanted.then(|| Self {
            form,
            has_colour: observe::wants_colour(),
            began: Instant::now(),
            lines: Vec::new(),
        })
    }

    /// `   1.234567890s  INFO GET /rest/v1/todos 200 request_id=… project=… client=… duration_ms=…`
    fn write_text(&mut self, record: &Record) -> std::io::Result<()> {
        let up = self.began.elapsed();
        let (dim, paint, plain) = match (self.has_colour, record.level) {
            (false, _) => ("", "", ""),
            (true, Level::Error) => ("\x1b[2m", "\x1b[31m", "\x1b[0m"),
            (true, Level::Warn) => ("\x1b[2m", "\x1b[33m", "\x1b[0m"),
            (true, _) => ("\x1b[2m", "\x1b[32m", "\x1b[0m"),
        };
        let (seconds, nanos) = (up.as_secs(), up.subsec_nanos());
        write!(
            self.lines,
            "{dim}{seconds:4}.{nanos:09}s{plain} {paint}{:>5}{plain} {}",
            level_name(record.level),
            record.message,
        )?;
        if let Some(id) = &record.request_id {
            write!(self.lines, " request_id={id}")?;
        }
        write!(self.lines, " project={}", record.project)?;
        if let Some(client) = record.fields.get("client").and_then(Value::as_str) {
            write!(self.lines, " client={client}")?;
        }
        if let Some(duration) = record.fields.get("duration_ms") {
            write!(self.lines, " duration_ms={duration}")?;
        }
        self.lines.write_all(b"\n")
    }

    fn write_json(&mut self, record: &Record) -> std::io::Result<()> {
        let line = JsonLine {
            timestamp: record.time,
            level: level_name(record.level),
            fields: JsonFields {
                message: &record.message,
                request_id: record.request_id.as_deref(),
                project: &record.project,
                client: record.fields.get("client"),
                duration_ms: record.fields.get("duration_ms"),
            },
            target: TARGET,
        };
        serde_json::to_writer(&mut self.lines, &line)?;
        self.lines.write_all(b"\n")
    }
}

/// What `tracing_subscriber` writes as JSON.
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
    client: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<&'a Value>,
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

impl Echo for AccessLines {
    fn show(&mut self, record: &Record) {
        // Only a request has an outcome; what else is recorded has been said already, as have calls of
        // functions, which are requests, too.
        let is_request = record.fields.contains_key("status");
        if !is_request || record.source == Source::Functions {
            return;
        }
        // Memory takes every byte.
        _ = match self.form {
            Form::Development => self.write_text(record),
            Form::Production => self.write_json(record),
        };
    }

    fn flush(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        // A reader that went away is no reason to fail.
        _ = match self.form {
            Form::Development => stderr().lock().write_all(&self.lines),
            Form::Production => stdout().lock().write_all(&self.lines),
        };
        self.lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use plinth_log::Timestamp;

    use super::*;

    fn lines(form: Form, has_colour: bool) -> AccessLines {
        AccessLines {
            form,
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

    fn shown(mut lines: AccessLines, record: &Record) -> String {
        lines.show(record);
        String::from_utf8(lines.lines).expect("text")
    }

    #[test]
    fn people_read_one_line_per_request() {
        let text = shown(lines(Form::Development, false), &request(200, Level::Info));

        let (up, line) = text.split_once("s ").expect("a time");
        assert!(up.trim().starts_with("0."), "{up}");
        assert_eq!(
            line,
            " INFO GET /rest/v1/todos 200 request_id=r1 project=shop client=127.0.0.1 \
             duration_ms=1.5\n"
        );
        let text = shown(lines(Form::Development, true), &request(404, Level::Warn));
        assert!(text.contains("\x1b[33m WARN\x1b[0m GET"), "{text}");
    }

    #[test]
    fn programs_read_json_as_the_other_lines_have_it() {
        let text = shown(lines(Form::Production, false), &request(500, Level::Error));

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

        assert_eq!(shown(lines(Form::Development, false), &record), "");
    }
}
