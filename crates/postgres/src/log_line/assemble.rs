//! Puts an entry together from its lines.

use std::time::SystemTime;

use super::parse::{Line, Part, parse};
use super::{LogEntry, MAX_FIELD_BYTES};

/// Takes lines and gives entries. An entry is complete when the next one begins, or when the
/// caller knows that nothing follows for now.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    current: Option<LogEntry>,
    /// Which part further lines belong to; `None` means the message.
    part: Option<Part>,
}

impl Assembler {
    /// Adds a line; returns the entry before, when this line begins another one.
    pub(crate) fn push(&mut self, line: &str, now: SystemTime) -> Option<LogEntry> {
        match parse(line, now) {
            Line::Entry(entry) => {
                self.part = None;
                return self.current.replace(*entry);
            }
            Line::Part(part, text) => {
                self.part = Some(part);
                self.append(&text, "");
            }
            Line::More(text) => self.append(&text, "\n"),
        }
        None
    }

    /// Whatever is there, because no more of it is to be expected.
    pub(crate) fn flush(&mut self) -> Option<LogEntry> {
        self.part = None;
        self.current.take()
    }

    fn append(&mut self, text: &str, joint: &str) {
        // A part without an entry can only follow a flush; it has nowhere to go.
        let Some(entry) = &mut self.current else {
            return;
        };
        let field = match self.part {
            None => &mut entry.message,
            Some(Part::Detail) => entry.detail.get_or_insert_default(),
            Some(Part::Hint) => entry.hint.get_or_insert_default(),
            Some(Part::Context) => entry.context.get_or_insert_default(),
            Some(Part::Statement) => entry.statement.get_or_insert_default(),
            Some(Part::Other) => return,
        };
        if field.len() < MAX_FIELD_BYTES {
            field.push_str(joint);
            field.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_line::Level;

    fn line(text: &str) -> String {
        format!("1.000\u{1f}7\u{1f}client backend\u{1f}42601\u{1f}ada\u{1f}shop\u{1f}{text}")
    }

    fn push(assembler: &mut Assembler, line: &str) -> Option<LogEntry> {
        assembler.push(line, SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn an_entry_keeps_its_parts_and_further_lines() {
        let mut assembler = Assembler::default();
        for text in [
            line("ERROR:  syntax error"),
            "\tin two lines".to_owned(),
            line("DETAIL:  too short"),
            line("HINT:  look it up"),
            line("LOCATION:  scanner.l:1"),
            "\tmore of it".to_owned(),
            line("STATEMENT:  select"),
            "\t  from t".to_owned(),
        ] {
            assert_eq!(push(&mut assembler, &text), None);
        }

        let entry = push(&mut assembler, &line("LOG:  next")).unwrap();

        assert_eq!(entry.level, Level::Error);
        assert_eq!(entry.message, "syntax error\nin two lines");
        assert_eq!(entry.detail.as_deref(), Some("too short"));
        assert_eq!(entry.hint.as_deref(), Some("look it up"));
        assert_eq!(entry.statement.as_deref(), Some("select\n  from t"));
        assert_eq!(assembler.flush().unwrap().message, "next");
        assert_eq!(assembler.flush(), None);
    }

    #[test]
    fn parts_without_an_entry_are_dropped() {
        let mut assembler = Assembler::default();
        assert_eq!(push(&mut assembler, &line("HINT:  lost")), None);
        assert_eq!(push(&mut assembler, "\tlost"), None);
        assert_eq!(assembler.flush(), None);
    }

    #[test]
    fn an_endless_statement_is_cut() {
        let mut assembler = Assembler::default();
        push(&mut assembler, &line("LOG:  long"));
        for _ in 0..1000 {
            push(&mut assembler, &format!("\t{}", "x".repeat(1000)));
        }
        let entry = assembler.flush().unwrap();
        assert!(entry.message.len() < MAX_FIELD_BYTES + 2000);
    }
}
