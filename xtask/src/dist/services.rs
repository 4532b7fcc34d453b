//! What the archive is run by: the systemd unit and the Dockerfile name files of the archive, which must be
//! there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::bare::PREFIX;
use crate::workspace;

const UNIT: &str = "packaging/plinth.service";
const DOCKERFILE: &str = "packaging/Dockerfile";

/// Fails with all that the unit and the Dockerfile name and the unpacked archive does not have.
pub(super) fn check(archive: &Path) -> Result<()> {
    let unit = read(UNIT)?;
    let dockerfile = read(DOCKERFILE)?;
    let mut problems = missing_files(UNIT, &unit, archive);
    problems.extend(missing_files(DOCKERFILE, &dockerfile, archive));
    problems.extend(missing_context(&dockerfile, archive));
    problems.extend(systemd_problems(&unit, archive)?);
    if !problems.is_empty() {
        bail!("{}", problems.join("\n  "));
    }
    Ok(())
}

fn read(file: &str) -> Result<String> {
    let path = workspace::root().join(file);
    fs::read_to_string(path).with_context(|| format!("{file} cannot be read"))
}

/// Paths below the folder where the archive is unpacked, comments included: people type them.
fn missing_files(file: &str, text: &str, archive: &Path) -> Vec<String> {
    let prefix = format!("/{PREFIX}/");
    let is_part_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let paths = text.split(&prefix).skip(1).map(|rest| {
        let end = rest.find(|c| !is_part_of_path(c));
        &rest[..end.unwrap_or(rest.len())]
    });
    let missing = paths.filter(|path| !archive.join(path).exists());
    missing
        .map(|path| format!("{file} names {prefix}{path}, which the archive does not have"))
        .collect()
}

/// The sources of `COPY`, which are seen from the unpacked archive, and the program that is started.
fn missing_context(dockerfile: &str, archive: &Path) -> Vec<String> {
    let mut sources: Vec<PathBuf> = Vec::new();
    for line in dockerfile.lines() {
        if let Some(arguments) = line.strip_prefix("COPY ") {
            let words: Vec<_> = arguments.split_whitespace().collect();
            sources.extend(words.iter().rev().skip(1).map(PathBuf::from));
        } else if let Some(program) = line.strip_prefix("ENTRYPOINT [\"") {
            let program = program.split('"').next().unwrap_or_default();
            sources.push(Path::new("bin").join(program));
        }
    }
    let missing = sources
        .into_iter()
        .filter(|source| !archive.join(source).exists());
    missing
        .map(|source| {
            let source = source.display();
            format!("{DOCKERFILE} needs {source}, which the archive does not have")
        })
        .collect()
}

/// What systemd says of the unit with the program where it is now; nothing where there is no systemd.
fn systemd_problems(unit: &str, archive: &Path) -> Result<Vec<String>> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let file = folder.path().join("plinth.service");
    let here = archive.canonicalize().context("no archive")?;
    let installed = unit.replace(&format!("/{PREFIX}/"), &format!("{}/", here.display()));
    fs::write(&file, installed).with_context(|| format!("{} cannot be written", file.display()))?;
    // Not its manual pages: man does not find those of the archive.
    let mut verify = Command::new("systemd-analyze");
    let Ok(verified) = verify.args(["verify", "--man=no"]).arg(&file).output() else {
        return Ok(Vec::new());
    };
    let complaints = String::from_utf8_lossy(&verified.stderr).into_owned();
    // Other units of this machine may have problems of their own.
    let own = complaints
        .lines()
        .filter(|line| line.contains("plinth.service"));
    Ok(own.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::write;
    use super::*;

    /// An archive with the program and the unit.
    fn archive() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("bin/plinth");
        write(&program, "#!/bin/sh\n").expect("written");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
        let unit = folder.path().join("lib/systemd/system/plinth.service");
        write(&unit, "").expect("written");
        folder
    }

    #[test]
    fn the_unit_and_the_dockerfile_name_files_of_the_archive() {
        let archive = archive();
        check(archive.path()).expect("all are there");
    }

    #[test]
    fn a_program_that_is_elsewhere_is_noticed() {
        let archive = archive();
        fs::rename(archive.path().join("bin"), archive.path().join("sbin")).expect("renamed");

        let problems = check(archive.path())
            .expect_err("bin is missing")
            .to_string();

        let expected = [
            "packaging/plinth.service names /opt/plinth/bin/plinth, which",
            "packaging/Dockerfile names /opt/plinth/bin, which",
            "packaging/Dockerfile needs bin/plinth, which",
        ];
        for problem in expected {
            assert!(problems.contains(problem), "{problems}");
        }
    }

    #[test]
    fn sources_of_a_copy_are_parts_of_the_archive() {
        let archive = archive();
        let dockerfile = "FROM debian\nCOPY bin lib etc /opt/plinth/\n";
        assert_eq!(
            missing_context(dockerfile, archive.path()),
            ["packaging/Dockerfile needs etc, which the archive does not have"]
        );
    }

    #[test]
    fn systemd_reads_the_unit() {
        if Command::new("systemd-analyze")
            .arg("--version")
            .output()
            .is_err()
        {
            eprintln!("skipped: there is no systemd-analyze");
            return;
        }
        let archive = archive();
        let unit = read(UNIT)
            .expect("a unit")
            .replace("ProtectHome", "ProtectHom");

        let problems = systemd_problems(&unit, archive.path()).expect("asked");

        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("ProtectHom"), "{problems:?}");
    }
}
