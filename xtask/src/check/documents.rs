//! Documents stay short and true: their lengths, the files, links and tests that they name, and the
//! numbers of README.md and CONTRIBUTING.md are compared with the repository.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{files, test_commands};
use crate::tools;

/// The longest that a document may be, in lines.
const MAX_LINES: [(&str, usize); 3] = [
    ("README.md", 130),
    ("ARCHITECTURE.md", 350),
    ("CONTRIBUTING.md", 200),
];
/// The most entries of the glossary.
const MAX_ENTRIES: usize = 60;

/// Folders whose paths are checked where a document names them in code spans.
const CHECKED_FOLDERS: [&str; 8] = [
    "bench/",
    "crates/",
    "docs/",
    "examples/",
    "packaging/",
    "tests/",
    "web/",
    "xtask/",
];

/// One sentence for everything in a document that is not so.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (name, most) in MAX_LINES {
        let lines = read(&root.join(name))?.lines().count();
        if lines > most {
            problems.push(format!("{name} has {lines} lines; {most} are allowed"));
        }
    }
    let entries = glossary_entries(&read(&root.join("docs/glossary.md"))?);
    if entries > MAX_ENTRIES {
        problems.push(format!(
            "docs/glossary.md has {entries} entries; {MAX_ENTRIES} are allowed"
        ));
    }
    let files = files::list(root)?;
    let names: BTreeSet<_> = files.iter().filter_map(|file| file.file_name()).collect();
    for file in &files {
        if file.extension().is_some_and(|extension| extension == "md") {
            problems.extend(untrue_places(root, file)?);
            let text = read(file)?;
            let missing = bare_names(&text).filter(|name| !names.contains(OsStr::new(name)));
            let shown = file.strip_prefix(root).unwrap_or(file).display();
            problems
                .extend(missing.map(|name| format!("{shown} names {name}; there is no such file")));
        }
    }
    problems.extend(test_commands::problems(root, "CONTRIBUTING.md")?);
    problems.extend(wrong_counts(root)?);
    problems.extend(untested_invariants(&read(&root.join("ARCHITECTURE.md"))?));
    Ok(problems)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// Rows of its tables, headings and rules left out.
fn glossary_entries(text: &str) -> usize {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    rows.filter(|row| !row.starts_with("| Word |")).count()
}

/// Links and paths of one document that lead nowhere.
fn untrue_places(root: &Path, document: &Path) -> Result<Vec<String>> {
    let text = read(document)?;
    let folder = document.parent().unwrap_or(root);
    let shown = document.strip_prefix(root).unwrap_or(document).display();
    let missing_links = links(&text)
        .filter(|link| !folder.join(link).exists())
        .map(|link| format!("{shown} links to {link}, which is not there"));
    // A crate's README names what is in the crate.
    let missing_paths = paths(&text)
        .filter(|path| !exists(root, path) && !exists(folder, path))
        .map(|path| format!("{shown} names {path}, which is not there"));
    Ok(missing_links.chain(missing_paths).collect())
}

/// Targets of links to files, without their anchors.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with(['#', '<']))
        .filter(|target| !target.contains(char::is_whitespace))
        .filter_map(|target| target.split('#').next())
}

/// What stands between backquotes, blocks of code left out.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2))
}

/// Code spans that are names of source files without a folder.
fn bare_names(text: &str) -> impl Iterator<Item = &str> {
    code_spans(text).filter(|span| {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        span.strip_suffix(".rs")
            .is_some_and(|name| !name.is_empty() && name.chars().all(is_name))
    })
}

/// Code spans that are paths in this repository.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    code_spans(text).filter(|span| {
        let is_checked = CHECKED_FOLDERS
            .iter()
            .any(|folder| span.starts_with(folder));
        // Built, generated or meant as a pattern.
        let is_concrete = !span.contains([' ', '<', '{', '…', '(']);
        is_checked && is_concrete && !span.contains("/dist") && !span.contains("node_modules")
    })
}

/// A file, a folder, or with `*` for one part of the name at least one such file; behind `::` a test
/// in that file.
fn exists(root: &Path, path: &str) -> bool {
    if let Some((file, test)) = path.split_once("::") {
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        return text.contains(&format!("fn {test}("));
    }
    let mut found = vec![root.to_owned()];
    for part in path.trim_end_matches('/').split('/') {
        found = found.iter().flat_map(|folder| step(folder, part)).collect();
    }
    !found.is_empty()
}

fn step(folder: &Path, part: &str) -> Vec<PathBuf> {
    let Some((start, end)) = part.split_once('*') else {
        let path = folder.join(part);
        return path.exists().then_some(path).into_iter().collect();
    };
    let entries = fs::read_dir(folder).into_iter().flatten();
    let entries = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start) && name.ends_with(end)
    };
    entries.filter(fits).collect()
}

/// Versions, the next migration and the count of providers, as CONTRIBUTING.md and README.md have them.
fn wrong_counts(root: &Path) -> Result<Vec<String>> {
    let [rust, test_rust] = rust_versions(root)?;
    let last = last_migration(&root.join("crates/auth/migrations"))?;
    let next: u32 = 1 + last[..4]
        .parse::<u32>()
        .context("migrations are numbered")?;

    let node = format!("Node.js {} or later", tools::NODE_MAJOR);
    let (last, file) = (
        format!("after `{last}`"),
        format!("`crates/auth/migrations/{next:04}_<name>.sql`"),
    );
    let macro_call = format!("`migration!({next}, \"<name>\", \"{next:04}_<name>.sql\")`");
    let table = read(&root.join("crates/auth/src/oauth/providers/table.rs"))?;
    let providers = format!(" {} providers ", named_rows(&table));
    let expected = [
        ("README.md", vec![&rust, &test_rust, &node, &providers]),
        (
            "CONTRIBUTING.md",
            vec![&rust, &test_rust, &node, &last, &file, &macro_call],
        ),
    ];
    let mut problems = Vec::new();
    for (name, sentences) in expected {
        let text = read(&root.join(name))?;
        let missing = sentences
            .into_iter()
            .filter(|sentence| !text.contains(*sentence));
        problems.extend(missing.map(|sentence| format!("{name} should say: {sentence}")));
    }
    Ok(problems)
}

/// What documents say of the compiler: what the program needs, and what its tests need.
fn rust_versions(root: &Path) -> Result<[String; 2]> {
    let needed = |manifest: &str| {
        let text = read(&root.join(manifest))?;
        let version = text.split("\nrust-version = \"").nth(1);
        let version = version.and_then(|rest| rest.split('"').next());
        let version = version.with_context(|| format!("{manifest} names no rust-version"))?;
        Ok::<_, anyhow::Error>(format!("Rust {version} or later"))
    };
    Ok([
        needed("Cargo.toml")?,
        needed("crates/teststore/Cargo.toml")?,
    ])
}

/// Rows of the table of invariants that name no test, only a file or nothing.
fn untested_invariants(text: &str) -> Vec<String> {
    let table = text.split("\n| # | Invariant |").nth(1).unwrap_or_default();
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let untested = rows.filter(|row| !code_spans(row).any(|span| span.contains(".rs::")));
    untested
        .map(|row| format!("ARCHITECTURE.md names no test of an invariant: {row}"))
        .collect()
}

/// Rows of a table of structs that have a name.
fn named_rows(table: &str) -> usize {
    let names = table.lines().map(str::trim);
    names
        .filter(|line| line.starts_with("name: \"") && *line != "name: \"\",")
        .count()
}

fn last_migration(folder: &Path) -> Result<String> {
    let entries = fs::read_dir(folder).context("auth has migrations")?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.max().context("auth has a migration")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_documents_are_true() {
        let problems = problems(workspace::root()).expect("readable");
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn links_to_files_are_found_and_others_are_not() {
        let text = "[a](docs/a.md#part) [b](https://example.com) [c](#here) `f(x)` [d](../e.md)";
        assert_eq!(links(text).collect::<Vec<_>>(), ["docs/a.md", "../e.md"]);
    }

    #[test]
    fn paths_stand_in_code_spans_of_prose() {
        let text =
            "see `crates/x/y.rs`, `crates/<name>` and `x/y`\n```sh\ncd `docs/no`\n```\n`docs/z`";
        assert_eq!(paths(text).collect::<Vec<_>>(), ["crates/x/y.rs", "docs/z"]);
    }

    #[test]
    fn source_files_are_named_with_or_without_a_folder() {
        let text = "`cache.rs`, `a/b.rs`, `deno.json`, `.rs` and `X.rs`";
        assert_eq!(bare_names(text).collect::<Vec<_>>(), ["cache.rs"]);
    }

    #[test]
    fn rows_are_counted_and_the_default_is_none() {
        let table = "name: \"\",\n    name: \"apple\",\n    name: \"zoom\",\n    names: 1,";
        assert_eq!(named_rows(table), 2);
    }

    #[test]
    fn the_compiler_of_the_tests_is_named_beside_the_one_of_the_program() {
        let folder = tempfile::tempdir().expect("a folder");
        let manifest = |path: &str, version: &str| {
            let file = folder.path().join(path).join("Cargo.toml");
            fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
            let text = format!("[package]\nrust-version = \"{version}\"\n");
            fs::write(file, text).expect("a file");
        };
        manifest("", "1.90");
        manifest("crates/teststore", "1.92");

        let versions = rust_versions(folder.path()).expect("readable");

        assert_eq!(versions, ["Rust 1.90 or later", "Rust 1.92 or later"]);
    }

    #[test]
    fn an_invariant_names_the_test_that_holds_it() {
        let table = "text\n| # | Invariant | Test |\n|---|---|---|\n| 1 | a | `a.rs::it_works` |\n\
                     | 2 | b | `b.rs` |\n\n| 3 | another table | |";
        assert_eq!(
            untested_invariants(table),
            ["ARCHITECTURE.md names no test of an invariant: | 2 | b | `b.rs` |"]
        );
    }

    #[test]
    fn a_star_stands_for_part_of_a_name() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("crates/a/tests")).expect("folders");
        assert!(exists(folder.path(), "crates/*/tests/"));
        assert!(!exists(folder.path(), "crates/*/benches"));
    }

    #[test]
    fn a_test_is_named_behind_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.rs"), "async fn it_works() {}").expect("a file");
        assert!(exists(folder.path(), "a.rs::it_works"));
        assert!(!exists(folder.path(), "a.rs::it"));
    }
}
