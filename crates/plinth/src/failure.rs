//! A failed command: a message, a next step, and an exit code.

use std::{fmt, io::Write as _};

/// Exit codes that scripts can rely on (console contract L4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command failed.
    Failure = 1,
    /// Wrong arguments.
    Usage = 2,
    /// No server runs for this folder.
    NotRunning = 3,
    /// The current state does not allow it, or two sides differ.
    Conflict = 4,
    /// Not permitted.
    Forbidden = 5,
}

impl Kind {
    /// All of them, by exit code.
    pub(crate) const ALL: [Self; 5] = [
        Self::Failure,
        Self::Usage,
        Self::NotRunning,
        Self::Conflict,
        Self::Forbidden,
    ];

    /// What happened, for `docs/errors.md`.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Failure => "The command failed.",
            Self::Usage => "The arguments or settings are wrong.",
            Self::NotRunning => "No server runs for this folder.",
            Self::Conflict => "The current state does not allow it, or two sides differ.",
            Self::Forbidden => "The access token is missing or lacks a right.",
        }
    }

    /// What the reader can do about it, for `docs/errors.md`.
    pub(crate) fn next_step(self) -> &'static str {
        match self {
            Self::Failure => "Read the message on stderr; `--debug` shows causes.",
            Self::Usage => "Read the message on stderr and `--help`.",
            Self::NotRunning => {
                "Start it with `plinth start`, or choose a folder with `--workdir`."
            }
            Self::Conflict => "Do first what the message on stderr asks for.",
            Self::Forbidden => "Set `PLINTH_ACCESS_TOKEN` to a token with the required scopes.",
        }
    }
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

    /// The reader of stdout is gone; nothing more is printed.
    pub(crate) fn broken_pipe() -> Self {
        Self::new(Kind::Failure, "")
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
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
        if self.is_broken_pipe() {
            return;
        }
        let mut text = format!("plinth: {}\n", without_error_numbers(&self.message));
        if let Some(step) = &self.next_step {
            text.push_str(&format!("  {step}\n"));
        }
        if is_debug && let Some(cause) = &self.cause {
            text.push_str(&format!("  cause: {cause:?}\n"));
        }
        // The exit code remains if stderr is closed.
        _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Removes the numbers that the standard library appends to system errors (`(os error 2)`).
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

/// Other errors become [`Kind::Failure`], with their whole chain as message.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
        // Some errors include the message of their cause.
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
        let message = "cannot connect: Connection refused (os error 111), then gone (os error 2)";
        assert_eq!(
            without_error_numbers(message),
            "cannot connect: Connection refused, then gone"
        );
        assert_eq!(without_error_numbers("plain (words)"), "plain (words)");
    }
}
