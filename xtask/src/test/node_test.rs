//! A suite in JavaScript: runs it and reads how long each test took.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, Result};

use super::runner::Durations;
use crate::commands;

/// Runs `npm test --` of a suite whose script names the reporter for people and nothing else; without
/// files, all tests of the suite.
pub(super) fn run(
    npm: &mut Command,
    files: &[PathBuf],
    suite: &str,
    durations: &Durations,
) -> Result<()> {
    let report = tempfile::NamedTempFile::new().context("there is no place for a report")?;
    let destination = format!("--test-reporter-destination={}", report.path().display());
    npm.args([
        "--test-reporter-destination=stdout",
        "--test-reporter=junit",
    ]);
    // Node.js takes everything behind the first file for a file.
    let ended = commands::run(npm.arg(destination).args(files));
    let text = fs::read_to_string(report.path()).context("the report cannot be read")?;
    for (name, duration) in parse(&text) {
        durations.record(format!("{name} ({suite})"), duration);
    }
    ended
}

/// The test cases of a JUnit report with how long each took.
fn parse(report: &str) -> impl Iterator<Item = (String, Duration)> {
    report.split("<testcase ").skip(1).filter_map(|case| {
        let seconds: f64 = attribute(case, "time")?.parse().ok()?;
        let name = attribute(case, "name")?.to_owned();
        Some((name, Duration::try_from_secs_f64(seconds).ok()?))
    })
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = element.split_once(&format!("{name}=\""))?;
    Some(value.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_cases_are_read_with_their_durations() {
        let report = r#"<testsuites>
            <testsuite name="files" time="9"><testcase name="a &lt; b" time="1.5" classname="test"/>
            </testsuite>
            <testcase name="fails" time="0.25" classname="test"><failure type="x">time="7"</failure></testcase>
        </testsuites>"#;
        let expected = [("a &lt; b", 1500), ("fails", 250)]
            .map(|(name, millis)| (name.to_owned(), Duration::from_millis(millis)));
        assert_eq!(parse(report).collect::<Vec<_>>(), expected);
    }
}
