//! One line of the log.

use std::time::{Duration, SystemTime};

use super::{Level, LogEntry};

const SEPARATOR: char = '\u{1f}';

/// What a line of the log can be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The beginning of an entry.
    Entry(Box<LogEntry>),
    /// A part of the entry before it, such as its hint.
    Part(Part, String),
    /// A further line of whatever came before.
    More(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Detail,
    Hint,
    Context,
    Statement,
    /// Nothing we keep, such as the place in the server's source.
    Other,
}

impl Part {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "DETAIL" => Self::Detail,
            "HINT" => Self::Hint,
            "CONTEXT" => Self::Context,
            "STATEMENT" => Self::Statement,
            "QUERY" | "LOCATION" | "BACKTRACE" => Self::Other,
            _ => return None,
        })
    }
}

/// Never fails: what is no log line of the server is a message of its own.
pub(super) fn parse(line: &str, now: SystemTime) -> Line {
    if let Some(more) = line.strip_prefix('\t') {
        return Line::More(more.to_owned());
    }
    let fields: Vec<&str> = line.splitn(7, SEPARATOR).collect();
    let (prefix, text) = match fields.as_slice() {
        [time, pid, process, sqlstate, user, database, text] => {
            (Some([time, pid, process, sqlstate, user, database]), *text)
        }
        _ => (None, without_default_prefix(line)),
    };
    let (word, message) = match text.split_once(":  ") {
        Some((word, message)) => (word, message.to_owned()),
        None => ("", text.to_owned()),
    };
    if let Some(part) = Part::parse(word) {
        return Line::Part(part, message);
    }
    let (level, message) = match Level::parse(word) {
        Some(level) => (level, message),
        None => (Level::Log, text.to_owned()),
    };
    let mut entry = bare(now, level, message);
    if let Some(prefix) = prefix {
        fill(&mut entry, prefix);
    }
    Line::Entry(Box::new(entry))
}

/// Before it has read its configuration the server writes `2026-11-15 03:00:00.000 UTC [42] `.
fn without_default_prefix(line: &str) -> &str {
    match line.split_once("] ") {
        Some((prefix, text)) if prefix.starts_with(|c: char| c.is_ascii_digit()) => text,
        _ => line,
    }
}

fn bare(time: SystemTime, level: Level, message: String) -> LogEntry {
    LogEntry {
        time,
        level,
        message,
        detail: None,
        hint: None,
        context: None,
        statement: None,
        sqlstate: None,
        user: None,
        database: None,
        pid: None,
        process: None,
    }
}

fn fill(entry: &mut LogEntry, prefix: [&&str; 6]) {
    let [time, pid, process, sqlstate, user, database] = prefix;
    let present = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    if let Some(time) = parse_epoch(time) {
        entry.time = time;
    }
    entry.pid = pid.parse().ok();
    entry.process = present(process);
    entry.sqlstate = present(sqlstate).filter(|code| code != "00000");
    entry.user = present(user);
    entry.database = present(database);
}

/// Seconds since 1970 with three decimals.
fn parse_epoch(text: &str) -> Option<SystemTime> {
    let (seconds, millis) = text.split_once('.')?;
    let since = Duration::from_secs(seconds.parse().ok()?)
        .checked_add(Duration::from_millis(millis.parse().ok()?))?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn entry(line: &str) -> LogEntry {
        match parse(line, NOW) {
            Line::Entry(entry) => *entry,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_field_of_the_prefix_is_read() {
        let line = "1763175600.250\u{1f}42\u{1f}client backend\u{1f}42P01\u{1f}ada\u{1f}shop\u{1f}\
                    ERROR:  relation \"x\" does not exist at character 15";

        let entry = entry(line);

        assert_eq!(entry.time, NOW + Duration::from_millis(1_763_175_600_250));
        assert_eq!(entry.level, Level::Error);
        assert_eq!(
            entry.message,
            "relation \"x\" does not exist at character 15"
        );
        assert_eq!(entry.sqlstate.as_deref(), Some("42P01"));
        assert_eq!(entry.user.as_deref(), Some("ada"));
        assert_eq!(entry.database.as_deref(), Some("shop"));
        assert_eq!(entry.pid, Some(42));
        assert_eq!(entry.process.as_deref(), Some("client backend"));
    }

    #[test]
    fn empty_fields_and_success_are_absent() {
        let line = "1.000\u{1f}7\u{1f}postmaster\u{1f}00000\u{1f}\u{1f}\u{1f}LOG:  ready";
        let entry = entry(line);

        assert_eq!(
            (entry.user, entry.database, entry.sqlstate),
            (None, None, None)
        );
    }

    #[test]
    fn lines_without_our_prefix_are_understood_too() {
        let early = entry("2026-11-15 03:00:00.123 UTC [77] FATAL:  no \"x\": it's gone");
        assert_eq!(
            (early.level, early.message.as_str()),
            (Level::Fatal, "no \"x\": it's gone")
        );

        let foreign = entry("postgres: error while loading shared libraries: libpq.so.5");
        assert_eq!(foreign.level, Level::Log);
        assert!(foreign.message.starts_with("postgres: error"));
    }

    #[test]
    fn parts_and_further_lines_are_distinguished_from_entries() {
        let part = |text: &str| format!("1.000\u{1f}7\u{1f}b\u{1f}00000\u{1f}\u{1f}\u{1f}{text}");

        assert_eq!(
            parse(&part("HINT:  try again"), NOW),
            Line::Part(Part::Hint, "try again".to_owned())
        );
        assert_eq!(parse("\tfrom t", NOW), Line::More("from t".to_owned()));
    }

    proptest! {
        #[test]
        fn any_text_is_some_line(text in "\\PC*|([\u{1f}\t:A-Z .\\]\\[0-9]){0,80}") {
            parse(&text, NOW);
        }
    }
}
