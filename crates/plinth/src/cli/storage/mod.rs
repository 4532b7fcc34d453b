//! `plinth storage check`: over the API while the server runs, else on the data itself (console
//! contract L71).

use std::io::{IsTerminal, Write as _};

use http_body_util::BodyExt as _;
use plinth_project::{FileCheck, ProjectName, ProjectStatus};
use serde_json::{Map, Value, json};

use super::{
    Client, Format, Global,
    args::{CheckArgs, StorageCommand},
    client::segment,
    output::{print, to_json},
    projects::text,
};
use crate::{
    failure::{Failure, Kind, Outcome},
    server::Offline,
};

pub(super) async fn run(global: &Global, command: StorageCommand) -> Outcome {
    let StorageCommand::Check(args) = command;
    let mut report = Report::new(match args.json {
        true => Format::Json,
        false => global.output,
    });
    match Client::connect(global) {
        Ok(client) => ask(&client, global, &args, &mut report).await?,
        Err(failure) if failure.kind() == Kind::NotRunning => {
            look(global, &args, &mut report).await?;
        }
        Err(failure) => return Err(failure),
    }
    report.end()
}

/// One project, where one is named.
fn wanted<'a>(global: &'a Global, args: &'a CheckArgs) -> Option<&'a str> {
    let by_ref = Some(global.reference.as_str()).filter(|name| *name != "default");
    args.project.as_deref().or(by_ref)
}

/// Lets the server look.
async fn ask(client: &Client, global: &Global, args: &CheckArgs, report: &mut Report) -> Outcome {
    let projects = match wanted(global, args) {
        Some(name) => {
            let path = format!("/platform/projects/{}", segment(name));
            vec![client.get(&path).await?]
        }
        None => {
            let all = client.get("/platform/projects").await?;
            all.as_array().cloned().unwrap_or_default()
        }
    };
    let how = json!({ "repair": args.repair, "verify_digests": args.verify_digests });
    for project in projects {
        let (reference, name) = (text(&project, "ref"), text(&project, "name"));
        report.begin(&reference, &name)?;
        if project["status"] != ProjectStatus::ActiveHealthy.as_str() {
            report.pass_over(&text(&project, "status"))?;
            continue;
        }
        let path = format!("/platform/projects/{}/storage/check", segment(&reference));
        let mut body = client.post_stream(&path, how.clone()).await?;
        let mut rest = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Some(bytes) = frame?.data_ref() {
                rest.extend_from_slice(bytes);
            }
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                report.take(serde_json::from_slice(&line)?)?;
            }
        }
        report.close_project()?;
    }
    Ok(())
}

/// Looks without a server.
async fn look(global: &Global, args: &CheckArgs, report: &mut Report) -> Outcome {
    let offline = Offline::open(global, args.database_url.clone()).await?;
    let looked = look_through(&offline, global, args, report).await;
    offline.close().await?;
    looked
}

async fn look_through(
    offline: &Offline,
    global: &Global,
    args: &CheckArgs,
    report: &mut Report,
) -> Outcome {
    let platform = &offline.platform;
    let projects = match wanted(global, args) {
        Some(name) => {
            let name: ProjectName = name.parse()?;
            vec![platform.load_project(&name).await?]
        }
        None => platform.list_projects(true).await?,
    };
    let how = FileCheck {
        repairs: args.repair,
        verifies_digests: args.verify_digests,
    };
    for project in projects {
        report.begin(project.reference.as_str(), &project.name)?;
        if project.status != ProjectStatus::ActiveHealthy {
            report.pass_over(project.status.as_str())?;
            continue;
        }
        let opened = platform.open(&ProjectName::Ref(project.reference)).await?;
        let mut lines = offline.storage.check(&opened, how);
        while let Some(line) = lines.recv().await {
            report.take(line)?;
        }
        report.close_project()?;
    }
    Ok(())
}

/// What is shown, as it comes.
struct Report {
    format: Format,
    is_terminal: bool,
    /// All projects, for `-o json`.
    projects: Vec<Value>,
    findings: u64,
    is_repairable: bool,
}

impl Report {
    fn new(format: Format) -> Self {
        Self {
            format,
            is_terminal: std::io::stderr().is_terminal(),
            projects: Vec::new(),
            findings: 0,
            is_repairable: false,
        }
    }

    fn begin(&mut self, reference: &str, name: &str) -> Outcome {
        let project = json!({ "project": reference, "name": name, "findings": [] });
        self.projects.push(project);
        self.show(&format!("{name} ({reference})\n"))
    }

    fn project(&mut self) -> &mut Value {
        if self.projects.is_empty() {
            self.projects.push(json!({ "findings": [] }));
        }
        let last = self.projects.len() - 1;
        &mut self.projects[last]
    }

    fn pass_over(&mut self, status: &str) -> Outcome {
        self.project()["skipped"] = json!(status);
        self.show(&format!("  - not looked at: it is {status}\n"))
    }

    fn take(&mut self, line: Value) -> Outcome {
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
            self.project()["summary"] = summary.clone();
            return self.show(&summed_up(summary));
        }
        self.findings += 1;
        self.is_repairable |= line["finding"] == "orphan" && line["repaired"] == false;
        self.show(&format!("  ✗ {}\n", told(&line)))?;
        if self.format == Format::Json
            && let Some(findings) = self.project()["findings"].as_array_mut()
        {
            findings.push(line);
        }
        Ok(())
    }

    /// A summary must have come.
    fn close_project(&mut self) -> Outcome {
        match self.project().get("summary") {
            Some(_) => Ok(()),
            None => Err(Failure::new(
                Kind::Failure,
                "the check was cut off: the server stops",
            )),
        }
    }

    fn end(self) -> Outcome {
        let is_clean = self.findings == 0;
        if self.format == Format::Json {
            let mut document = Map::new();
            document.insert("clean".to_owned(), json!(is_clean));
            document.insert("projects".to_owned(), Value::Array(self.projects));
            print(&to_json(&Value::Object(document))?)?;
        }
        if is_clean {
            return Ok(());
        }
        let problems = match self.findings {
            1 => "1 problem was".to_owned(),
            count => format!("{count} problems were"),
        };
        let failure = Failure::new(Kind::Failure, format!("{problems} found"));
        Err(match self.is_repairable {
            true => failure
                .next_step("`plinth storage check --repair` lets bytes go that nothing names."),
            false => failure,
        })
    }

    fn show(&self, text: &str) -> Outcome {
        match self.format {
            Format::Json => Ok(()),
            _ => print(text),
        }
    }

    /// On a terminal, in one line that goes away.
    fn show_progress(&self, text: &str) {
        if self.is_terminal {
            eprint!("\r\x1b[K{text}");
            _ = std::io::stderr().flush();
        }
    }
}

/// One finding, in a sentence.
fn told(finding: &Value) -> String {
    let (version, size) = (text(finding, "version"), &finding["size"]);
    let what = format!(
        "{} {}/{}",
        text(finding, "of"),
        text(finding, "bucket"),
        text(finding, "name")
    );
    match text(finding, "finding").as_str() {
        "missing" if finding["version"].is_null() => format!("{what}: names no bytes"),
        "missing" => format!("{what}: its bytes are missing (version {version})"),
        "wrong_size" => format!(
            "{what}: has {} bytes instead of {size} (version {version})",
            finding["stored"]
        ),
        "wrong_digest" => format!("{what}: its bytes are not those that came (version {version})"),
        "orphan" => {
            let state = match text(finding, "place").as_str() {
                "growing" => ", of an upload that is gone",
                "unfinished" => ", never finished",
                _ => "",
            };
            let repaired = match finding["repaired"] == true {
                true => "; they will be collected",
                false => "",
            };
            let since = text(finding, "modified");
            format!("nothing names these {size} bytes{state}: {version}, since {since}{repaired}")
        }
        "stuck" => format!(
            "bytes that nobody needs cannot be removed: {version}, tried {} times",
            finding["attempts"]
        ),
        other => format!("{other}: {finding}"),
    }
}

fn summed_up(summary: &Value) -> String {
    let count = |name: &str| summary[name].as_u64().unwrap_or_default();
    let mark = if count("findings") == 0 { "✓" } else { "!" };
    let mut text = format!(
        "  {mark} {} object(s), {} part(s), {} upload(s); {} blob(s) of {} bytes\n",
        count("objects"),
        count("parts"),
        count("uploads"),
        count("files"),
        count("bytes")
    );
    let mut add = |number: u64, what: &str| {
        if number > 0 {
            text.push_str(&format!("    {number} {what}\n"));
        }
    };
    add(count("pending"), "being written");
    add(count("leaving"), "about to be collected");
    add(count("collected"), "collected just now");
    add(
        count("unverified"),
        "came in parts: no digest to compare with",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_sentences() {
        let check = |finding: Value, sentence: &str| assert_eq!(told(&finding), sentence);
        let row = |finding: &str, more: Value| {
            let mut row = json!({
                "finding": finding, "of": "object", "bucket": "b", "name": "a/c.txt",
                "version": "v", "size": 3,
            });
            for (name, value) in more.as_object().into_iter().flatten() {
                row[name] = value.clone();
            }
            row
        };
        check(
            row("missing", json!({})),
            "object b/a/c.txt: its bytes are missing (version v)",
        );
        check(
            row("missing", json!({ "version": null })),
            "object b/a/c.txt: names no bytes",
        );
        check(
            row("wrong_size", json!({ "stored": 1 })),
            "object b/a/c.txt: has 1 bytes instead of 3 (version v)",
        );
        check(
            json!({ "finding": "orphan", "version": "v", "place": "growing", "size": 7,
                "modified": "2026-01-02T03:04:05.000Z", "repaired": true }),
            "nothing names these 7 bytes, of an upload that is gone: v, since \
             2026-01-02T03:04:05.000Z; they will be collected",
        );
    }
}
