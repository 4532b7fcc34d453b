//! Versions in the lock file of supabase-js.
//!
//! Its packages name most versions by a catalogue, which only pnpm can read. The lock file says for
//! each package what was chosen, so that npm can install the very same.

/// What npm is to install, as `name@version`, given folders of the workspace and the names that
/// they use; the names of those without a version otherwise.
pub(super) fn packages<'a>(
    lock: &str,
    wanted: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<String>, Vec<String>> {
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for (importer, name) in wanted {
        match version(lock, importer, name) {
            Some(version) => found.push(format!("{name}@{version}")),
            None => unknown.push(name.to_owned()),
        }
    }
    if unknown.is_empty() {
        Ok(found)
    } else {
        Err(unknown)
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
        let wanted = [
            (".", "ts-node"),
            ("packages/b", "jest"),
            ("packages/b", "zod"),
        ];
        let unknown = packages(LOCK, wanted.into_iter()).expect_err("one is not there");
        assert_eq!(unknown, ["zod"]);
    }
}
