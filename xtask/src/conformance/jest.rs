//! Running Jest on the suite, and reading what it reports.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Score;

/// Tests name a fixed port, which a developer's own Plinth may have. Requests to it are sent to
/// ours; nothing else about them changes, and the test files stay as they are.
const REDIRECT: &str = r#"
const { PLINTH_URL } = process.env;
const send = globalThis.fetch;
globalThis.fetch = (target, options) =>
  send(typeof target === "string" ? target.replace(/http:\/\/(localhost|127\.0\.0\.1):54321/, PLINTH_URL) : target, options);
"#;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    test_results: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: String,
    #[serde(default)]
    message: String,
    assertion_results: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    full_name: String,
    status: String,
}

/// Runs the suite in `folder`; `scratch` holds the installed packages and takes the report.
pub(super) fn run(folder: &Path, scratch: &Path, ignored: &str, url: &str) -> Result<Score> {
    let redirect = scratch.join("redirect.js");
    let report = scratch.join("report.json");
    fs::write(&redirect, REDIRECT).context("a file could not be written")?;

    let mut jest = Command::new("node");
    jest.current_dir(folder)
        .arg(scratch.join("node_modules/jest/bin/jest.js"))
        .args(["--runInBand", "--ci", "--json"])
        .arg(format!("--testPathIgnorePatterns={ignored}"))
        .arg(format!("--setupFiles={}", redirect.display()))
        .arg(format!("--outputFile={}", report.display()))
        .env("PLINTH_URL", url)
        .stdin(std::process::Stdio::null())
        // The report on standard output is for programs; people read the other one.
        .stdout(std::process::Stdio::null());
    let status = jest.status().context("node could not be started")?;
    // It ends with 1 when a test failed.
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("jest ended with {status}");
    }
    let text = fs::read_to_string(&report).context("jest wrote no report")?;
    let report = serde_json::from_str(&text).context("jest wrote a report of unknown form")?;
    Ok(score(report))
}

fn score(report: Report) -> Score {
    let mut score = Score {
        passed: 0,
        failed: Vec::new(),
    };
    for file in report.test_results {
        let path = Path::new(&file.name);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if file.assertion_results.is_empty() {
            let why = file.message.lines().find(|line| !line.trim().is_empty());
            let why = why.unwrap_or("it has no tests").trim();
            score.failed.push(format!("{name}: {why}"));
        }
        for test in &file.assertion_results {
            match test.status.as_str() {
                "passed" => score.passed += 1,
                "failed" => score.failed.push(format!("{name}: {}", test.full_name)),
                _ => {}
            }
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_that_could_not_run_has_failed() {
        let test = |name: &str, status: &str| json!({ "fullName": name, "status": status });
        let report = json!({ "testResults": [
            {
                "name": "/t/rpc.test.ts",
                "assertionResults": [test("a", "passed"), test("b", "failed"), test("c", "pending")],
            },
            { "name": "/t/basic.test.ts", "message": "\n  it does not compile\n", "assertionResults": [] },
        ] });

        let expected = Score {
            passed: 1,
            failed: vec![
                "rpc.test.ts: b".to_owned(),
                "basic.test.ts: it does not compile".to_owned(),
            ],
        };
        assert_eq!(
            score(serde_json::from_value(report).expect("the form")),
            expected
        );
    }
}
