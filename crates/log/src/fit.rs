//! Cuts records whose line would exceed [`MAX_RECORD_BYTES`].
//!
//! The message gets half of the space; fields share the rest, short ones first. What is cut
//! is measured as written, because an escaped control character takes six bytes.

use serde_json::Value;

use crate::record::{MAX_RECORD_BYTES, Record, TRUNCATED_FIELD};

/// Escaping makes a byte at most six bytes long; smaller records need no measuring.
pub(crate) const NEVER_TOO_LARGE_BYTES: usize = MAX_RECORD_BYTES / 6;
/// Space for the time, level, project, source, the marker and all punctuation.
const FRAME_BYTES: usize = 1024;
const MESSAGE_BYTES: usize = MAX_RECORD_BYTES / 2;
const REQUEST_ID_BYTES: usize = 512;
const FIELD_NAME_BYTES: usize = 256;
/// Fields up to this length come before longer ones.
const SHORT_BYTES: usize = 256;

/// Cuts the record so that its line fits; most records need no measuring.
pub(crate) fn cut_to_fit(record: &mut Record) {
    if record.weight() <= NEVER_TOO_LARGE_BYTES {
        return;
    }
    let mut line = Vec::new();
    record.write_line(&mut line);
    if line.len() <= MAX_RECORD_BYTES {
        return;
    }

    cut_text(&mut record.message, MESSAGE_BYTES);
    let mut capacity = MAX_RECORD_BYTES - FRAME_BYTES - written_len(&record.message);
    if let Some(request_id) = &mut record.request_id {
        cut_text(request_id, REQUEST_ID_BYTES);
        capacity -= written_len(request_id);
    }
    let mut fields: Vec<_> = std::mem::take(&mut record.fields).into_iter().collect();
    // Short fields first: a long path must not displace user and status.
    fields.sort_by_cached_key(|(_, value)| json_len(value) > SHORT_BYTES);
    for (mut name, value) in fields {
        if written_len(&name) > FIELD_NAME_BYTES {
            cut_text(name.to_mut(), FIELD_NAME_BYTES);
        }
        let overhead = written_len(&name) + 8;
        if let Some(value) = capacity
            .checked_sub(overhead)
            .and_then(|capacity| cut_value(value, capacity))
        {
            capacity -= overhead + json_len(&value);
            record.fields.insert(name, value);
        }
    }
    record.fields.insert(TRUNCATED_FIELD, true);
}

/// Shortens a text; anything else is kept whole or left out.
fn cut_value(value: Value, capacity: usize) -> Option<Value> {
    match value {
        Value::String(mut text) => {
            cut_text(&mut text, capacity.checked_sub(2)?);
            Some(Value::String(text))
        }
        other => (json_len(&other) <= capacity).then_some(other),
    }
}

fn json_len(value: &Value) -> usize {
    match value {
        Value::String(text) => written_len(text) + 2,
        other => other.to_string().len(),
    }
}

/// Shortens `text` so that it takes at most `max_bytes` when written, at a character boundary.
fn cut_text(text: &mut String, max_bytes: usize) {
    let mut written = 0;
    let end = text.char_indices().find_map(|(start, char)| {
        written += written_char_len(char);
        (written > max_bytes).then_some(start)
    });
    if let Some(end) = end {
        text.truncate(end);
        text.shrink_to_fit();
    }
}

fn written_len(text: &str) -> usize {
    text.chars().map(written_char_len).sum()
}

fn written_char_len(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        control if control < ' ' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Source};

    fn line_len(record: &Record) -> usize {
        let mut line = Vec::new();
        record.write_line(&mut line);
        line.len()
    }

    fn record(message: String) -> Record {
        Record::new(Source::Api, Level::Info, message).project("x".repeat(64))
    }

    #[test]
    fn records_that_fit_are_left_alone() {
        let mut large = record("a".repeat(60_000)).field("status", 200);
        let before = large.clone();

        cut_to_fit(&mut large);

        assert_eq!(large, before);
    }

    #[test]
    fn a_huge_message_is_cut_and_marked_while_its_fields_stay() {
        let mut huge = record("é".repeat(1 << 20)).field("status", 200);

        cut_to_fit(&mut huge);

        assert!(line_len(&huge) <= MAX_RECORD_BYTES);
        assert_eq!(huge.message.len(), MESSAGE_BYTES);
        assert_eq!(huge.fields["status"], 200);
        assert_eq!(huge.fields["truncated"], true);
    }

    #[test]
    fn escaped_characters_count_as_written() {
        let mut huge = record("\u{1}".repeat(1 << 20)).request_id("\"".repeat(1 << 20));

        cut_to_fit(&mut huge);

        assert!(line_len(&huge) <= MAX_RECORD_BYTES);
        assert_eq!(huge.message.len(), MESSAGE_BYTES / 6);
    }

    #[test]
    fn huge_fields_are_cut_or_left_out() {
        let mut huge = record("m".to_owned())
            .field("body", "\n".repeat(1 << 20))
            .field("n".repeat(1 << 20), 1)
            .field("list", serde_json::json!(vec![0; 1 << 18]));

        cut_to_fit(&mut huge);

        assert!(line_len(&huge) <= MAX_RECORD_BYTES);
        assert!(huge.fields["body"].as_str().unwrap().len() > 20_000);
        assert!(!huge.fields.contains_key("list"));
        assert_eq!(huge.fields["truncated"], true);
    }

    #[test]
    fn a_long_field_leaves_space_for_later_short_ones() {
        let mut huge = record("m".repeat(1 << 20))
            .field("path", "/".repeat(1 << 20))
            .field("status", 414)
            .field("client", "203.0.113.7");

        cut_to_fit(&mut huge);

        assert!(line_len(&huge) <= MAX_RECORD_BYTES);
        assert!(huge.fields["path"].as_str().unwrap().len() > 20_000);
        assert_eq!(huge.fields["status"], 414);
        assert_eq!(huge.fields["client"], "203.0.113.7");
    }

    #[test]
    fn ten_thousand_fields_fit_too() {
        let mut wide = record("m".to_owned());
        for n in 0..10_000 {
            wide.fields.push(format!("field_{n}").into(), n.into());
        }

        cut_to_fit(&mut wide);

        assert!(line_len(&wide) <= MAX_RECORD_BYTES);
        assert_eq!(wide.fields["truncated"], true);
    }
}
