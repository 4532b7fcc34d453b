//! Glob patterns: the files that a setting names.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders that are never searched.
const SKIPPED: [&str; 3] = ["node_modules", ".git", ".plinth"];

/// Files below `base` that match a pattern, sorted: `*` matches any part of a name, `**` any folders.
pub fn files_matching(base: &Path, pattern: &str) -> Vec<PathBuf> {
    let parts: Vec<&str> = pattern
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let mut found = Vec::new();
    descend(base.to_owned(), &parts, &mut found);
    found.sort();
    found.dedup();
    found
}

fn descend(place: PathBuf, parts: &[&str], found: &mut Vec<PathBuf>) {
    match parts {
        [] => {
            if place.is_file() {
                found.push(place);
            }
        }
        ["**", rest @ ..] => {
            // `**` at the end matches everything below.
            let rest = if rest.is_empty() { &["*"] } else { rest };
            descend(place.clone(), rest, found);
            for (folder, name) in entries(&place) {
                if folder.is_dir() && !folder.is_symlink() && !SKIPPED.contains(&name.as_str()) {
                    descend(folder, parts, found);
                }
            }
        }
        [part, rest @ ..] if part.contains('*') => {
            for (entry, name) in entries(&place) {
                if glob(part, &name) {
                    descend(entry, rest, found);
                }
            }
        }
        [part, rest @ ..] => descend(place.join(part), rest, found),
    }
}

fn entries(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (entry.path(), name)
    });
    named.collect()
}

/// Whether a name matches a pattern, in which `*` matches any part.
fn glob(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len())
                .filter(|at| rest.is_char_boundary(*at))
                .any(|at| glob(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_files_at_any_depth() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [
            "a/1.html",
            "a/b/2.html",
            "a/b/3.txt",
            "a/node_modules/4.html",
            "c.html",
        ] {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, "").expect("a file");
        }
        let check = |pattern: &str, expected: &[&str]| {
            let found = files_matching(folder.path(), pattern);
            let expected: Vec<PathBuf> = expected
                .iter()
                .map(|path| folder.path().join(path))
                .collect();
            assert_eq!(found, expected, "{pattern}");
        };
        check("./a/*.html", &["a/1.html"]);
        check("a/**/*.html", &["a/1.html", "a/b/2.html"]);
        check("a/b/**", &["a/b/2.html", "a/b/3.txt"]);
        check("c.html", &["c.html"]);
        check("missing/*", &[]);
        check("a", &[]);
    }

    #[test]
    fn stars_stand_for_any_part() {
        assert!(glob("*.sql", "a.sql"));
        assert!(glob("a*b*c", "a1b2c"));
        assert!(!glob("*.sql", "a.txt"));
        assert!(!glob("seed.sql", "seed2.sql"));
    }
}
