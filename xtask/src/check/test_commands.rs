//! The `cargo test` commands of a document: their packages, test files and tests exist.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::files;

/// One sentence for every command in a block of code that would run nothing.
pub(super) fn problems(root: &Path, document: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(document))
        .with_context(|| format!("{document} cannot be read"))?;
    let mut problems = Vec::new();
    for line in text.split("```").skip(1).step_by(2).flat_map(str::lines) {
        let Some(command) = Command::parse(line) else {
            continue;
        };
        if let Some(missing) = command.missing(root)? {
            problems.push(format!("{document} names {missing}, which is not there"));
        }
    }
    Ok(problems)
}

/// `cargo test -p <package> [--test <target>] [<name>]`
#[derive(Debug, Default, PartialEq, Eq)]
struct Command<'a> {
    package: &'a str,
    target: Option<&'a str>,
    /// What the names of the tests to run contain.
    name: Option<&'a str>,
}

impl<'a> Command<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (_, arguments) = line.split_once("cargo test ")?;
        let arguments = arguments.split(" #").next().unwrap_or_default();
        let mut words = arguments.split_whitespace();
        let mut command = Self::default();
        while let Some(word) = words.next() {
            match word {
                "-p" => command.package = words.next().unwrap_or_default(),
                "--test" => command.target = words.next(),
                name => command.name = Some(name),
            }
        }
        Some(command)
    }

    /// What of it does not exist.
    fn missing(&self, root: &Path) -> Result<Option<String>> {
        let folder = self.package.strip_prefix("plinth-").unwrap_or(self.package);
        let package = root.join("crates").join(folder);
        if self.package.is_empty() || !package.is_dir() {
            return Ok(Some(format!("the package {:?}", self.package)));
        }
        let searched = match self.target {
            None => vec![package],
            Some(target) => {
                let tests = package.join("tests");
                let places = [tests.join(format!("{target}.rs")), tests.join(target)];
                places.into_iter().filter(|place| place.exists()).collect()
            }
        };
        if let (true, Some(target)) = (searched.is_empty(), self.target) {
            return Ok(Some(format!("the tests {target:?} of {}", self.package)));
        }
        match self.name {
            Some(name) if !has_test(&searched, name)? => {
                Ok(Some(format!("the test {name:?} of {}", self.package)))
            }
            _ => Ok(None),
        }
    }
}

/// Whether a function below the places has a name that contains this one.
fn has_test(places: &[PathBuf], name: &str) -> Result<bool> {
    for place in places {
        let files = if place.is_dir() {
            files::list(place)?
        } else {
            vec![place.clone()]
        };
        for file in files
            .iter()
            .filter(|file| file.extension().is_some_and(|e| e == "rs"))
        {
            let text = fs::read_to_string(file)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            let mut functions = text
                .split("fn ")
                .skip(1)
                .filter_map(|rest| rest.split('(').next());
            if functions.any(|function| function.contains(name)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_package_target_and_test() {
        let line =
            "PLINTH_TEST_BIN_DIR=/x cargo test -p plinth --test blackbox a_port   # one test";
        let expected = Command {
            package: "plinth",
            target: Some("blackbox"),
            name: Some("a_port"),
        };
        assert_eq!(Command::parse(line), Some(expected));
        assert_eq!(Command::parse("cargo xtask test --list"), None);
    }

    #[test]
    fn what_does_not_exist_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        let tests = root.path().join("crates/db/tests/wire");
        fs::create_dir_all(&tests).expect("folders");
        fs::write(tests.join("main.rs"), "fn it_works() {}").expect("a file");
        let text = "cargo test -p no\n```sh\ncargo test -p plinth-db\ncargo test -p plinth-db --test wire it_works\n\
                    cargo test -p plinth-no\ncargo test -p plinth-db --test no\ncargo test -p plinth-db nothing\n```\n";
        fs::write(root.path().join("GUIDE.md"), text).expect("a file");

        let problems = problems(root.path(), "GUIDE.md").expect("readable");

        assert_eq!(
            problems,
            [
                "GUIDE.md names the package \"plinth-no\", which is not there",
                "GUIDE.md names the tests \"no\" of plinth-db, which is not there",
                "GUIDE.md names the test \"nothing\" of plinth-db, which is not there",
            ]
        );
    }
}
