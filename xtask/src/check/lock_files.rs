//! Lock files pin versions and checksums, never where a developer happened to download from: the
//! same clone must install behind a mirror and without one.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde_json::Value;

use super::files;

/// The registry of crates.io, as cargo writes it into every lock file.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// One sentence for every entry that names a host.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in files::list(root)? {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let examine = match name {
            "package-lock.json" => npm_problems,
            "Cargo.lock" => cargo_problems,
            _ => continue,
        };
        let shown = file.strip_prefix(root).unwrap_or(&file).display();
        let text = fs::read_to_string(&file).with_context(|| format!("{shown} cannot be read"))?;
        let found = examine(&text).with_context(|| format!("{shown} cannot be understood"))?;
        problems.extend(
            found
                .into_iter()
                .map(|problem| format!("{shown}: {problem}")),
        );
    }
    Ok(problems)
}

fn npm_problems(text: &str) -> Result<Vec<String>> {
    let lock: Value = serde_json::from_str(text)?;
    let packages = lock.get("packages").and_then(Value::as_object);
    let mut problems = Vec::new();
    for (name, package) in packages.into_iter().flatten() {
        // A link to another folder of this repository is resolved as a relative path.
        if let Some(address) = package.get("resolved").and_then(Value::as_str)
            && address.contains("://")
        {
            problems.push(format!(
                "{name} names a host; write the file again with \
                 `npm install --omit-lockfile-registry-resolved`"
            ));
        }
    }
    Ok(problems)
}

fn cargo_problems(text: &str) -> Result<Vec<String>> {
    let sources = text
        .lines()
        .filter_map(|line| line.strip_prefix("source = "));
    let foreign = sources
        .map(|source| source.trim_matches('"'))
        .filter(|source| *source != CRATES_IO);
    Ok(foreign
        .map(|source| format!("{source} is not the registry of crates.io"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_npm_entry_with_a_host_is_reported_by_name() {
        let lock = r#"{ "packages": {
            "": { "name": "x" },
            "node_modules/good": { "version": "1.0.0", "integrity": "sha512-x" },
            "node_modules/local": { "resolved": "../shared", "link": true },
            "node_modules/bad": { "resolved": "https://mirror.example/bad.tgz" }
        } }"#;
        let problems = npm_problems(lock).expect("valid JSON");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].starts_with("node_modules/bad names a host"),
            "{problems:?}"
        );
    }

    #[test]
    fn a_cargo_package_from_elsewhere_is_reported() {
        let lock = "name = \"a\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
                    name = \"b\"\nsource = \"registry+https://mirror.example/index\"\n";
        let problems = cargo_problems(lock).expect("text");
        assert_eq!(
            problems,
            ["registry+https://mirror.example/index is not the registry of crates.io"]
        );
    }
}
