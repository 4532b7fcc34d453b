//! What a worker says: the user's words for the log, our script's for the monitor.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::mpsc,
};

use crate::record::Journal;

/// A line that is longer is taken in pieces.
const LONGEST_LINE: usize = 1 << 20;
/// How much of what the runtime complains about is kept for explanations.
const KEPT_WORDS: usize = 16_384;

/// What our script tells the monitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Report {
    /// The answer to a question of that number.
    #[serde(default)]
    pub(super) pong: Option<u64>,
    /// How much work goes on after its answer.
    #[serde(default)]
    pub(super) pending: usize,
    /// For how many milliseconds the oldest of it has.
    #[serde(default)]
    pub(super) oldest: u64,
    /// How many milliseconds ago the last of it was given.
    #[serde(default)]
    pub(super) newest: u64,
    #[serde(default)]
    pub(super) heap: u64,
    #[serde(default)]
    pub(super) external: u64,
}

#[derive(Deserialize)]
struct Printed {
    log: String,
    level: String,
    request: Option<String>,
}

/// Reads standard output to its end.
pub(super) async fn listen(
    mut stdout: impl AsyncRead + Unpin,
    mark: String,
    journal: Arc<Journal>,
    id: String,
    reports: mpsc::UnboundedSender<Report>,
) {
    let mut buffer = Vec::with_capacity(8 << 10);
    let mut seen = 0;
    while let Ok(1..) = stdout.read_buf(&mut buffer).await {
        while let Some(end) = buffer[seen..].iter().position(|byte| *byte == b'\n') {
            let rest = buffer.split_off(seen + end + 1);
            hear(&buffer, &mark, &journal, &id, &reports);
            buffer = rest;
            seen = 0;
        }
        seen = buffer.len();
        if seen > LONGEST_LINE {
            hear(&buffer, &mark, &journal, &id, &reports);
            buffer.clear();
            seen = 0;
        }
    }
    hear(&buffer, &mark, &journal, &id, &reports);
}

fn hear(
    line: &[u8],
    mark: &str,
    journal: &Journal,
    id: &str,
    reports: &mpsc::UnboundedSender<Report>,
) {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches('\n');
    let (users, ours) = apart(line, mark);
    if !users.is_empty() {
        journal.print(id, "info", users, None);
    }
    let Some(ours) = ours else {
        return;
    };
    if let Ok(printed) = serde_json::from_str::<Printed>(ours) {
        journal.print(id, &printed.level, &printed.log, printed.request.as_deref());
    } else if let Ok(report) = serde_json::from_str(ours) {
        // A monitor that has gone needs no report.
        _ = reports.send(report);
    }
}

/// What the user wrote, and what our script did: it may have begun in the middle of a line.
fn apart<'a>(line: &'a str, mark: &str) -> (&'a str, Option<&'a str>) {
    match line.split_once(mark) {
        Some((users, ours)) => (users, Some(ours)),
        None => (line, None),
    }
}

/// The last words of a worker.
#[derive(Default)]
pub(super) struct Words(Mutex<String>);

impl Words {
    pub(super) fn text(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn add(&self, text: &str) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.push_str(text);
        if words.len() > KEPT_WORDS {
            let least = words.len() - KEPT_WORDS;
            let from = (least..).find(|at| words.is_char_boundary(*at));
            *words = words.split_off(from.unwrap_or_default());
        }
    }
}

/// Reads what the runtime complains about to its end; until the worker serves, it is kept for the
/// explanation alone.
pub(super) async fn overhear(
    mut stderr: impl AsyncRead + Unpin,
    journal: Arc<Journal>,
    id: String,
    words: Arc<Words>,
    is_serving: Arc<std::sync::atomic::AtomicBool>,
) {
    let mut piece = vec![0; 16 << 10];
    while let Ok(count @ 1..) = stderr.read(&mut piece).await {
        let text = String::from_utf8_lossy(&piece[..count]);
        words.add(&text);
        if is_serving.load(std::sync::atomic::Ordering::Relaxed) {
            journal.print(&id, "error", text.trim_end(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_the_user_did_not_end_hides_no_report() {
        assert_eq!(apart("\u{1}x:{}", "\u{1}x:"), ("", Some("{}")));
        assert_eq!(apart("...\u{1}x:{}", "\u{1}x:"), ("...", Some("{}")));
        assert_eq!(apart("plain", "\u{1}x:"), ("plain", None));
    }

    #[test]
    fn the_last_words_are_kept_and_not_more() {
        let words = Words::default();

        words.add(&"ä".repeat(KEPT_WORDS));
        words.add("the end");

        let text = words.text();
        assert!(text.len() <= KEPT_WORDS && text.ends_with("äthe end"));
    }
}
