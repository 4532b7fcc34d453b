//! Reads a worker's standard output and standard error: what the function prints goes to the log, what
//! `bootstrap.js` reports goes to the monitor.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::mpsc,
};

use crate::function_log::FunctionLog;

/// A longer line is handled in pieces.
const MAX_LINE_BYTES: usize = 1 << 20;
/// How much of standard error is kept for error messages.
const STDERR_TAIL_BYTES: usize = 16_384;

/// What `bootstrap.js` reports to the monitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Report {
    /// The reply to the ping of that number.
    #[serde(default)]
    pub(super) pong: Option<u64>,
    /// How many promises given to `waitUntil` are pending.
    #[serde(default)]
    pub(super) pending: usize,
    /// Age of the oldest of them in milliseconds.
    #[serde(default)]
    pub(super) oldest: u64,
    /// Milliseconds since the last call of `waitUntil`.
    #[serde(default)]
    pub(super) newest: u64,
    #[serde(default)]
    pub(super) heap: u64,
    #[serde(default)]
    pub(super) external: u64,
}

/// A call of `console`.
#[derive(Deserialize)]
struct ConsoleMessage {
    log: String,
    level: String,
    request: Option<String>,
}

/// Reads standard output to its end.
pub(super) async fn read_stdout(
    mut stdout: impl AsyncRead + Unpin,
    report_prefix: String,
    log: Arc<FunctionLog>,
    id: String,
    reports: mpsc::UnboundedSender<Report>,
) {
    let mut buffer = Vec::with_capacity(8 << 10);
    let mut seen = 0;
    while let Ok(1..) = stdout.read_buf(&mut buffer).await {
        while let Some(end) = buffer[seen..].iter().position(|byte| *byte == b'\n') {
            let rest = buffer.split_off(seen + end + 1);
            handle_line(&buffer, &report_prefix, &log, &id, &reports);
            buffer = rest;
            seen = 0;
        }
        seen = buffer.len();
        if seen > MAX_LINE_BYTES {
            handle_line(&buffer, &report_prefix, &log, &id, &reports);
            buffer.clear();
            seen = 0;
        }
    }
    handle_line(&buffer, &report_prefix, &log, &id, &reports);
}

fn handle_line(
    line: &[u8],
    report_prefix: &str,
    log: &FunctionLog,
    id: &str,
    reports: &mpsc::UnboundedSender<Report>,
) {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches('\n');
    let (printed, report) = split_report(line, report_prefix);
    if !printed.is_empty() {
        log.print(id, "info", printed, None);
    }
    let Some(report) = report else {
        return;
    };
    if let Ok(message) = serde_json::from_str::<ConsoleMessage>(report) {
        log.print(id, &message.level, &message.log, message.request.as_deref());
    } else if let Ok(report) = serde_json::from_str(report) {
        // The monitor has ended with its worker.
        _ = reports.send(report);
    }
}

/// What the function printed, and the report behind it: a report may begin in the middle of a line.
fn split_report<'a>(line: &'a str, report_prefix: &str) -> (&'a str, Option<&'a str>) {
    match line.split_once(report_prefix) {
        Some((printed, report)) => (printed, Some(report)),
        None => (line, None),
    }
}

/// The end of what a worker printed on standard error.
#[derive(Default)]
pub(super) struct StderrTail(Mutex<String>);

impl StderrTail {
    pub(super) fn text(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn add(&self, text: &str) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push_str(text);
        if tail.len() > STDERR_TAIL_BYTES {
            let least = tail.len() - STDERR_TAIL_BYTES;
            let from = (least..).find(|at| tail.is_char_boundary(*at));
            *tail = tail.split_off(from.unwrap_or_default());
        }
    }
}

/// Reads standard error to its end. Until the worker serves, it is kept for the boot error alone.
pub(super) async fn read_stderr(
    mut stderr: impl AsyncRead + Unpin,
    log: Arc<FunctionLog>,
    id: String,
    tail: Arc<StderrTail>,
    is_serving: Arc<std::sync::atomic::AtomicBool>,
) {
    let mut piece = vec![0; 16 << 10];
    while let Ok(count @ 1..) = stderr.read(&mut piece).await {
        let text = String::from_utf8_lossy(&piece[..count]);
        tail.add(&text);
        if is_serving.load(std::sync::atomic::Ordering::Relaxed) {
            log.print(&id, "error", text.trim_end(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_the_user_did_not_end_hides_no_report() {
        assert_eq!(split_report("\u{1}x:{}", "\u{1}x:"), ("", Some("{}")));
        assert_eq!(split_report("...\u{1}x:{}", "\u{1}x:"), ("...", Some("{}")));
        assert_eq!(split_report("plain", "\u{1}x:"), ("plain", None));
    }

    #[test]
    fn the_end_of_standard_error_is_kept_and_not_more() {
        let tail = StderrTail::default();

        tail.add(&"ä".repeat(STDERR_TAIL_BYTES));
        tail.add("the end");

        let text = tail.text();
        assert!(text.len() <= STDERR_TAIL_BYTES && text.ends_with("äthe end"));
    }
}
