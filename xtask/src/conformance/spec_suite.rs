//! PostgREST's specification suite over HTTP: a harness extracts its cases from PostgREST's source
//! and starts `plinth serve rest` once for each of its configurations.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{Options, Score, Verdict, build_program, postgres};
use crate::tools;

/// What the harness wrote about a run.
#[derive(Deserialize)]
struct Report {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    title: String,
    outcome: String,
}

pub(super) fn run(options: &Options) -> Result<Verdict> {
    let postgres = postgres::find(options.pg_bin.as_deref());
    let missing = missing(options, postgres.as_ref().err());
    let (Ok(postgres), Some(source), Some(harness), true) = (
        &postgres,
        &options.source,
        &options.harness,
        missing.is_empty(),
    ) else {
        return Ok(Verdict::Missing(missing));
    };
    let program = build_program()?;
    let folder = tempfile::tempdir().context("there is no temporary folder")?;
    let report = folder.path().join("report.json");

    let mut python = Command::new("python3");
    python
        .current_dir(harness)
        .arg("run.py")
        .args(["--adapter", "plinth", "--rev", &options.rev])
        .args(["--pg-user", &options.pg_user])
        .args(["--min", &options.min.to_string()])
        .arg("--source")
        .arg(std::path::absolute(source)?)
        .arg("--pg-bin")
        .arg(std::path::absolute(postgres)?)
        .arg("--json")
        .arg(&report)
        .arg("--server-log")
        .arg(folder.path().join("server.log"))
        .env("PLINTH_BIN", program)
        // The harness is a folder of another repository; nothing is left in it.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let status = python.status().context("python3 could not be started")?;
    // Below the minimum it ends with 1 and has written its report all the same.
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("the harness ended with {status}");
    }
    Ok(Verdict::Ran(read(&report)?))
}

fn missing(options: &Options, postgres: Option<&String>) -> Vec<String> {
    let mut missing = Vec::new();
    let harness = options.harness.as_deref();
    if !harness.is_some_and(|folder| folder.join("run.py").is_file()) {
        let how = "name its folder with --harness or PLINTH_POSTGREST_SPEC";
        missing.push(format!("the harness (a folder with run.py); {how}"));
    }
    if !options.source.as_deref().is_some_and(Path::is_dir) {
        let how = "name it with --source or POSTGREST_SOURCE";
        missing.push(format!("a git directory of PostgREST; {how}"));
    }
    for program in ["python3", "git"] {
        if tools::find(program).is_none() {
            missing.push(program.to_owned());
        }
    }
    missing.extend(postgres.cloned());
    missing
}

fn read(report: &Path) -> Result<Score> {
    let text = fs::read_to_string(report).context("the harness wrote no report")?;
    let report: Report =
        serde_json::from_str(&text).context("the harness wrote a report of unknown form")?;
    Ok(score(report))
}

/// Cases that were skipped, for want of an extension or a version, count as neither.
fn score(report: Report) -> Score {
    let mut score = Score {
        passed: 0,
        failed: Vec::new(),
    };
    for case in report.cases {
        match case.outcome.as_str() {
            "pass" => score.passed += 1,
            "fail" | "error" => {
                let title = case.title.replace('\n', " ");
                score.failed.push(format!("{}  {title}", case.id));
            }
            _ => {}
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn skipped_cases_count_as_neither() {
        let case = |id: &str, outcome: &str| json!({ "id": id, "title": "t", "outcome": outcome });
        let cases = [
            case("a", "pass"),
            case("b", "fail"),
            case("c", "skipped"),
            case("d", "error"),
        ];
        let report = serde_json::from_value(json!({ "cases": cases })).expect("the form");

        let expected = Score {
            passed: 1,
            failed: vec!["b  t".to_owned(), "d  t".to_owned()],
        };
        assert_eq!(score(report), expected);
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let arguments = ["rest", "--harness", "/nowhere", "--source", "/nowhere"];
        let options = Options::parse(&arguments.map(str::to_owned))
            .expect("valid")
            .expect("no help");

        let missing = missing(&options, Some(&"PostGIS".to_owned()));

        assert!(missing[0].starts_with("the harness (a folder with run.py)"));
        assert!(missing[1].starts_with("a git directory of PostgREST"));
        assert_eq!(missing.last().map(String::as_str), Some("PostGIS"));
    }
}
