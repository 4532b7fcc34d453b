//! Versions in the lock file of supabase-js.
//!
//! Its packages name most versions by a catalogue, which only pnpm can read. The lock file says for
//! each package what was chosen, so that npm can install the very same.

/// The packages that the suite runs with: what its own manifest names, less what builds, formats
/// and documents, and what the root adds to read its configuration.
const OWN: &[&str] = &[
    "@jest/types",
    "@types/jest",
    "@types/node",
    "jest",
    "prettier",
    "ts-jest",
    "tslib",
    "type-fest",
    "typescript",
    "zod",
];
const OF_ROOT: &[&str] = &["ts-node"];

/// What npm is to install, as `name@version`; the names of those without a version otherwise.
pub(super) fn packages(lock: &str, package: &str) -> Result<Vec<String>, Vec<String>> {
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    let wanted = OWN
        .iter()
        .map(|name| (package, *name))
        .chain(OF_ROOT.iter().map(|name| (".", *name)));
    for (importer, name) in wanted {
        match version(lock, importer, name) {
            Some(version) => found.push(format!("{name}@{version}")),
            None => unknown.push(name.to_owned()),
        }
    }
    match unknown.is_empty() {
        true => Ok(found),
        false => Err(unknown),
    }
}

/// The version that a folder of the workspace has of a package.
fn version<'a>(lock: &'a str, importer: &str, name: &str) -> Option<&'a str> {
    let lines = block(lock.lines(), 0, "importers")?;
    let lines = block(lines, 2, importer)?;
    let mut lines = block(lines, 6, name)?;
    let version = lines.find_map(|line| line.trim().strip_prefix("version: "))?;
    // In parentheses follow the peers that it was resolved with.
    version.split('(').next()
}

/// The lines below a key with this many spaces before it.
fn block<'a>(
    mut lines: impl Iterator<Item = &'a str> + 'a,
    indent: usize,
    key: &str,
) -> Option<impl Iterator<Item = &'a str> + 'a> {
    lines.find(|line| {
        let is_here = indent_of(line) == indent;
        is_here && line.trim().trim_end_matches(':').trim_matches('\'') == key
    })?;
    Some(lines.take_while(move |line| line.is_empty() || indent_of(line) > indent))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "\
lockfileVersion: '9.0'

importers:

  .:
    devDependencies:
      ts-node:
        specifier: ^10.9.1
        version: 10.9.2(@types/node@20.19.9)(typescript@5.8.3)

  packages/a:
    devDependencies:
      '@types/jest':
        specifier: 'catalog:'
        version: 30.0.0

  packages/b:
    devDependencies:
      jest:
        specifier: 'catalog:'
        version: 30.4.2

packages:

  jest@29.0.0: {}
";

    fn check(importer: &str, name: &str, expected: Option<&str>) {
        assert_eq!(version(LOCK, importer, name), expected, "{importer} {name}");
    }

    #[test]
    fn a_version_is_that_of_the_folder_which_asks() {
        check(".", "ts-node", Some("10.9.2"));
        check("packages/a", "@types/jest", Some("30.0.0"));
        check("packages/b", "jest", Some("30.4.2"));
        check("packages/a", "jest", None);
        check("packages/c", "jest", None);
    }

    #[test]
    fn packages_without_a_version_are_named() {
        let unknown = packages(LOCK, "packages/b").expect_err("most are not there");
        assert!(unknown.contains(&"zod".to_owned()));
        assert!(!unknown.contains(&"jest".to_owned()));
        assert!(!unknown.contains(&"ts-node".to_owned()));
    }
}
