//! The report of a check, printed as findings arrive and not kept in memory.

use std::io::{self, IsTerminal, Write as _};

use serde_json::{Map, Value, json};

use super::messages::{describe_finding, describe_summary};
use crate::{
    cli::Format,
    failure::{Failure, Kind, Outcome},
};

/// State of a report.
pub(super) struct Report {
    format: Format,
    is_terminal: bool,
    /// The current project.
    project: Option<Project>,
    projects: u64,
    skipped: u64,
    findings: u64,
    is_repairable: bool,
}

#[derive(Default)]
struct Project {
    findings: u64,
    /// JSON members after its findings.
    members: Map<String, Value>,
}

impl Report {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            is_terminal: io::stderr().is_terminal(),
            project: None,
            projects: 0,
            skipped: 0,
            findings: 0,
            is_repairable: false,
        }
    }

    pub(super) fn begin(&mut self, reference: &str, name: &str) -> Outcome {
        let before = match self.projects {
            0 => "{\"projects\":[\n",
            _ => ",\n",
        };
        let (project, quoted) = (json!(reference), json!(name));
        self.show_json(&format!(
            "{before}{{\"project\":{project},\"name\":{quoted},\"findings\":["
        ))?;
        self.projects += 1;
        self.project = Some(Project::default());
        self.show(&format!("{name} ({reference})\n"))
    }

    /// The current project cannot be checked.
    pub(super) fn skip_project(&mut self, status: &str) -> Outcome {
        self.skipped += 1;
        self.add_member("skipped", json!(status));
        self.show(&format!("  - skipped: it is {status}\n"))?;
        self.print_project_end()
    }

    /// Prints one line of the check: a finding, progress, the summary or an error.
    pub(super) fn add_line(&mut self, line: Value) -> Outcome {
        if let Some(error) = line["error"].as_str() {
            return Err(Failure::new(
                Kind::Failure,
                format!("the check failed: {error}"),
            ));
        }
        if let Some(progress) = line.get("progress") {
            self.show_progress(&format!(
                "  {} rows and {} blobs checked",
                progress["rows"], progress["files"]
            ));
            return Ok(());
        }
        self.show_progress("");
        if let Some(summary) = line.get("summary") {
            self.add_member("summary", summary.clone());
            return self.show(&describe_summary(summary));
        }
        self.findings += 1;
        self.is_repairable |= line["finding"] == "orphan" && line["repaired"] == false;
        let project = self.project.get_or_insert_default();
        let before = match project.findings {
            0 => "\n",
            _ => ",\n",
        };
        project.findings += 1;
        self.show_json(&format!("{before}{line}"))?;
        self.show(&format!("  ✗ {}\n", describe_finding(&line)))
    }

    /// Ends the current project; fails without a summary.
    pub(super) fn close_project(&mut self) -> Outcome {
        let project = self.project.get_or_insert_default();
        if project.members.contains_key("summary") {
            self.print_project_end()
        } else {
            Err(Failure::new(
                Kind::Failure,
                "the check was aborted: the server is shutting down",
            ))
        }
    }

    /// Prints the end of the report and returns the outcome of the command.
    pub(super) fn finish(mut self, checked: Outcome) -> Outcome {
        let outcome = checked.and_then(|()| self.outcome());
        if self.projects > 0 && !outcome.as_ref().is_err_and(Failure::is_broken_pipe) {
            if self.project.is_some() {
                let error = outcome.as_ref().err().map(ToString::to_string);
                self.add_member("error", json!(error));
                self.print_project_end()?;
            }
            let (is_clean, skipped) = (outcome.is_ok(), self.skipped);
            self.show_json(&format!(
                "\n],\"clean\":{is_clean},\"skipped\":{skipped}}}\n"
            ))?;
        }
        outcome
    }

    fn outcome(&self) -> Outcome {
        if self.findings > 0 {
            let problems = match self.findings {
                1 => "1 problem was".to_owned(),
                count => format!("{count} problems were"),
            };
            let failure = Failure::new(Kind::Failure, format!("{problems} found"));
            return Err(if self.is_repairable {
                failure.next_step("`plinth storage check --repair` removes orphaned blobs.")
            } else {
                failure
            });
        }
        if self.skipped > 0 {
            let projects = match self.skipped {
                1 => "1 project was".to_owned(),
                count => format!("{count} projects were"),
            };
            let failure = Failure::new(Kind::Conflict, format!("{projects} skipped"));
            return Err(failure.next_step("`plinth projects resume` resumes a paused project."));
        }
        Ok(())
    }

    fn add_member(&mut self, name: &str, value: Value) {
        let project = self.project.get_or_insert_default();
        project.members.insert(name.to_owned(), value);
    }

    fn print_project_end(&mut self) -> Outcome {
        let Project { findings, members } = self.project.take().unwrap_or_default();
        let mut end = match findings {
            0 => "]".to_owned(),
            _ => "\n]".to_owned(),
        };
        for (name, value) in members {
            end.push_str(&format!(",{}:{value}", json!(name)));
        }
        self.show_json(&format!("{end}}}"))
    }

    /// Text output.
    fn show(&self, text: &str) -> Outcome {
        match self.format {
            Format::Json => Ok(()),
            _ => write(text),
        }
    }

    /// A part of the JSON document.
    fn show_json(&self, text: &str) -> Outcome {
        match self.format {
            Format::Json => write(text),
            _ => Ok(()),
        }
    }

    /// One line of a terminal, which is overwritten.
    fn show_progress(&self, text: &str) {
        if self.is_terminal {
            _ = write!(io::stderr(), "\r\x1b[K{text}");
            _ = io::stderr().flush();
        }
    }
}

/// A closed pipe (`| head`) ends the check.
fn write(text: &str) -> Outcome {
    let mut stdout = io::stdout();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::broken_pipe()),
        written => Ok(written?),
    }
}
