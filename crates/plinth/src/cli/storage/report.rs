//! What is shown of a check, as it comes: nothing of it is kept, however much there is.

use std::io::{self, IsTerminal, Write as _};

use serde_json::{Map, Value, json};

use super::sentences::{summed_up, told};
use crate::{
    cli::Format,
    failure::{Failure, Kind, Outcome},
};

/// A report that is being printed.
pub(super) struct Report {
    format: Format,
    is_terminal: bool,
    /// What is left to say of the project that is looked at.
    project: Option<Project>,
    projects: u64,
    skipped: u64,
    findings: u64,
    is_repairable: bool,
}

#[derive(Default)]
struct Project {
    findings: u64,
    /// Members that come after its findings.
    ending: Map<String, Value>,
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

    /// It cannot be looked at.
    pub(super) fn pass_over(&mut self, status: &str) -> Outcome {
        self.skipped += 1;
        self.say_at_its_end("skipped", json!(status));
        self.show(&format!("  - not looked at: it is {status}\n"))?;
        self.finish_project()
    }

    pub(super) fn take(&mut self, line: Value) -> Outcome {
        if let Some(error) = line["error"].as_str() {
            return Err(Failure::new(
                Kind::Failure,
                format!("the check came to no end: {error}"),
            ));
        }
        if let Some(progress) = line.get("progress") {
            self.show_progress(&format!(
                "  {} rows and {} blobs looked at",
                progress["rows"], progress["files"]
            ));
            return Ok(());
        }
        self.show_progress("");
        if let Some(summary) = line.get("summary") {
            self.say_at_its_end("summary", summary.clone());
            return self.show(&summed_up(summary));
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
        self.show(&format!("  ✗ {}\n", told(&line)))
    }

    /// A summary must have come.
    pub(super) fn close_project(&mut self) -> Outcome {
        let project = self.project.get_or_insert_default();
        match project.ending.contains_key("summary") {
            true => self.finish_project(),
            false => Err(Failure::new(
                Kind::Failure,
                "the check was cut off: the server stops",
            )),
        }
    }

    /// The last word, and how the command ends.
    pub(super) fn end(mut self, looked: Outcome) -> Outcome {
        let outcome = looked.and_then(|()| self.verdict());
        if self.projects > 0 && !outcome.as_ref().is_err_and(Failure::is_unread) {
            if self.project.is_some() {
                let error = outcome.as_ref().err().map(ToString::to_string);
                self.say_at_its_end("error", json!(error));
                self.finish_project()?;
            }
            let (is_clean, skipped) = (outcome.is_ok(), self.skipped);
            self.show_json(&format!(
                "\n],\"clean\":{is_clean},\"skipped\":{skipped}}}\n"
            ))?;
        }
        outcome
    }

    fn verdict(&self) -> Outcome {
        if self.findings > 0 {
            let problems = match self.findings {
                1 => "1 problem was".to_owned(),
                count => format!("{count} problems were"),
            };
            let failure = Failure::new(Kind::Failure, format!("{problems} found"));
            return Err(match self.is_repairable {
                true => failure
                    .next_step("`plinth storage check --repair` lets bytes go that nothing names."),
                false => failure,
            });
        }
        if self.skipped > 0 {
            let projects = match self.skipped {
                1 => "1 project was".to_owned(),
                count => format!("{count} projects were"),
            };
            let failure = Failure::new(Kind::Conflict, format!("{projects} not looked at"));
            return Err(failure.next_step("`plinth projects resume` wakes a paused project up."));
        }
        Ok(())
    }

    fn say_at_its_end(&mut self, name: &str, value: Value) {
        let project = self.project.get_or_insert_default();
        project.ending.insert(name.to_owned(), value);
    }

    fn finish_project(&mut self) -> Outcome {
        let Project { findings, ending } = self.project.take().unwrap_or_default();
        let mut end = match findings {
            0 => "]".to_owned(),
            _ => "\n]".to_owned(),
        };
        for (name, value) in ending {
            end.push_str(&format!(",{}:{value}", json!(name)));
        }
        self.show_json(&format!("{end}}}"))
    }

    /// For people.
    fn show(&self, text: &str) -> Outcome {
        match self.format {
            Format::Json => Ok(()),
            _ => write(text),
        }
    }

    /// A piece of the one document for programs.
    fn show_json(&self, text: &str) -> Outcome {
        match self.format {
            Format::Json => write(text),
            _ => Ok(()),
        }
    }

    /// On a terminal, in one line that goes away.
    fn show_progress(&self, text: &str) {
        if self.is_terminal {
            _ = write!(io::stderr(), "\r\x1b[K{text}");
            _ = io::stderr().flush();
        }
    }
}

/// Nobody looks on for a reader that went away (`| head`).
fn write(text: &str) -> Outcome {
    let mut stdout = io::stdout();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::unread()),
        written => Ok(written?),
    }
}
