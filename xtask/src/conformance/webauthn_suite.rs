//! The test vectors of the W3C's WebAuthn specification, read from a copy of its source and
//! verified by an ignored test of `plinth-auth`.

use std::{fs, path::Path};

use anyhow::Result;

use super::{Options, Score, Verdict};
use crate::{commands, workspace};

const TEST: &str = "webauthn::vectors::vectors_of_the_specification_are_verified";

/// The anchors of the sections with test vectors begin like this.
const ANCHOR: &str = "{#sctn-test-vectors-";

pub(super) fn run(options: &Options) -> Result<Verdict> {
    let spec = match find(options.spec.as_deref()) {
        Ok(spec) => std::path::absolute(spec)?,
        Err(missing) => return Ok(Verdict::Missing(vec![missing])),
    };
    let mut test = workspace::cargo();
    test.args(["test", "--package", "plinth-auth", "--lib", TEST, "--"])
        .args(["--exact", "--ignored", "--nocapture"])
        .env("PLINTH_WEBAUTHN_SPEC", spec);
    let (report, ended) = commands::output_and_end(&mut test)?;
    print!("{report}");
    let score = score(&report);
    // A failed vector is in the score; whatever else ended the test is not.
    if score.failed.is_empty() {
        ended?;
    }
    Ok(Verdict::Ran(score))
}

/// The file, if it has test vectors; otherwise what is missing.
fn find(spec: Option<&Path>) -> Result<&Path, String> {
    let how = "name index.bs of w3c/webauthn with --spec or PLINTH_WEBAUTHN_SPEC";
    let spec = spec.ok_or_else(|| format!("the specification's source; {how}"))?;
    let shown = spec.display();
    let text = fs::read_to_string(spec)
        .map_err(|error| format!("the specification's source: {shown}: {error}; {how}"))?;
    if text.contains(ANCHOR) {
        Ok(spec)
    } else {
        Err(format!("test vectors, which {shown} does not have; {how}"))
    }
}

/// Vectors that are not supported count as neither.
fn score(report: &str) -> Score {
    let failed = report.lines().filter_map(|it| it.strip_prefix("failed: "));
    Score {
        passed: report
            .lines()
            .filter(|line| line.starts_with("verified: "))
            .count(),
        failed: failed.map(ToOwned::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_that_are_not_supported_count_as_neither() {
        let report = "running 1 test\n\nverified: a (x)\nnot supported: b (y)\nfailed: c: z\n";
        let expected = Score {
            passed: 1,
            failed: vec!["c: z".to_owned()],
        };
        assert_eq!(score(report), expected);
    }

    #[test]
    fn a_file_without_test_vectors_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("index.bs");
        let missing = |spec: Option<&Path>| find(spec).expect_err("nothing is there");

        assert!(missing(None).starts_with("the specification's source; name index.bs"));
        assert!(missing(Some(&file)).contains("No such file"));
        fs::write(&file, "# Introduction").expect("a file");
        assert!(missing(Some(&file)).starts_with("test vectors, which"));
        fs::write(&file, "## A ## {#sctn-test-vectors-a}").expect("a file");
        assert_eq!(find(Some(&file)), Ok(file.as_path()));
    }
}
