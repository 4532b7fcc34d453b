//! How a command ends when it does not end well: one sentence, a next step, a code for scripts.

use std::{fmt, io::Write as _};

/// Exit codes that scripts can rely on (console contract L4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something went wrong.
    Failure = 1,
    /// The command was called wrongly.
    Usage = 2,
    /// It needs a running server, and none runs here.
    NotRunning = 3,
    /// The present state forbids it, or two sides differ.
    Conflict = 4,
    /// Not permitted.
    Forbidden = 5,
}

/// A command that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    next_step: Option<String>,
    cause: Option<anyhow::Error>,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            next_step: None,
            cause: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Whoever read what was printed has gone: there is nobody to tell more.
    pub(crate) fn unread() -> Self {
        Self::new(Kind::Failure, "")
    }

    pub(crate) fn is_unread(&self) -> bool {
        self.message.is_empty()
    }

    /// What the reader can do about it.
    pub(crate) fn next_step(mut self, step: impl Into<String>) -> Self {
        self.next_step = Some(step.into());
        self
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.kind as u8
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn print(&self, is_debug: bool) {
        if self.is_unread() {
            return;
        }
        let mut text = format!("plinth: {}\n", without_error_numbers(&self.message));
        if let Some(step) = &self.next_step {
            text.push_str(&format!("  {step}\n"));
        }
        if is_debug && let Some(cause) = &self.cause {
            text.push_str(&format!("  cause: {cause:?}\n"));
        }
        // Where nobody reads it, the code still says it.
        _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// The standard library appends numbers to the system's errors, which help nobody who is lost.
fn without_error_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Everything that has no kind of its own is a plain failure, told with its whole chain.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
        // Some errors repeat their cause in their own words.
        let mut message = String::new();
        for part in chain {
            if !message.contains(&part) {
                if !message.is_empty() {
                    message.push_str(": ");
                }
                message.push_str(&part);
            }
        }
        Self {
            kind: Kind::Failure,
            message,
            next_step: None,
            cause: Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_system_errors_are_left_out() {
        let told = "cannot connect: Connection refused (os error 111), then gone (os error 2)";
        assert_eq!(
            without_error_numbers(told),
            "cannot connect: Connection refused, then gone"
        );
        assert_eq!(without_error_numbers("plain (words)"), "plain (words)");
    }
}
