//! Errors and warnings about settings, with the place where each value is written.

use std::fmt;
use std::path::PathBuf;

/// Where a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An option of the command line.
    CommandLine,
    /// This environment variable.
    Environment(String),
    /// A file, and the line and column where they are known.
    File {
        /// The file.
        path: PathBuf,
        /// Line, counted from one.
        line: Option<usize>,
        /// Column, counted from one.
        column: Option<usize>,
    },
    /// Stored by operators.
    Stored,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => formatter.write_str("command line"),
            Self::Environment(name) => write!(formatter, "environment variable {name}"),
            Self::File { path, line, column } => {
                write!(formatter, "{}", path.display())?;
                if let Some(line) = line {
                    write!(formatter, ", line {line}")?;
                }
                if let Some(column) = column {
                    write!(formatter, ", column {column}")?;
                }
                Ok(())
            }
            Self::Stored => formatter.write_str("stored setting"),
        }
    }
}

/// An error or a warning. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where the value is written.
    pub place: Place,
    /// The setting it is about, when it is about one.
    pub key: Option<String>,
    /// A sentence.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

/// Settings that cannot be used, with all errors in them.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", self.render())]
pub struct LoadError {
    /// What must be corrected.
    pub problems: Vec<Problem>,
    /// What does not prevent their use.
    pub warnings: Vec<Problem>,
}

impl LoadError {
    fn render(&self) -> String {
        let mut text = match self.problems.len() {
            1 => "The settings cannot be used:".to_owned(),
            count => format!("The settings cannot be used, {count} things must be corrected:"),
        };
        for problem in &self.problems {
            text.push_str(&format!("\n  - {problem}"));
        }
        text
    }
}

/// Collects problems while layers are read.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

impl Findings {
    /// Groups the problems by place, those of a file in the order of its lines.
    pub(crate) fn sort(&mut self) {
        let position = |problem: &Problem| match &problem.place {
            Place::CommandLine => (0, None, None),
            Place::Environment(name) => (1, Some(PathBuf::from(name)), None),
            Place::File { path, line, .. } => (2, Some(path.clone()), *line),
            Place::Stored => (3, None, None),
        };
        self.errors.sort_by_cached_key(position);
        self.warnings.sort_by_cached_key(position);
    }

    pub(crate) fn error(&mut self, place: Place, key: impl ToString, message: String) {
        self.errors.push(Problem {
            place,
            key: Some(key.to_string()),
            message,
        });
    }

    pub(crate) fn warn(&mut self, place: Place, key: impl ToString, message: String) {
        self.warnings.push(Problem {
            place,
            key: Some(key.to_string()),
            message,
        });
    }
}
