//! Where a source file stands among the others. Paths come from outside and become files on a
//! disk, so nothing in them may lead elsewhere.

use crate::PlatformError;

const LONGEST_PATH: usize = 1024;
/// What file systems take as one name.
const LONGEST_NAME: usize = 255;

/// The path as it is kept: relative, with `/` between names, without names that mean nothing.
pub(super) fn checked(path: &str) -> Result<String, PlatformError> {
    let refused = |why: &str| {
        let path = path.escape_debug();
        Err(PlatformError::Invalid(format!("The path {path} {why}")))
    };
    if path.len() > LONGEST_PATH {
        return refused("is too long");
    }
    if path.contains('\\') || path.chars().any(char::is_control) {
        return refused("contains a backslash or a control character");
    }
    if path.starts_with('/') || has_drive(path) {
        return refused("is not relative to the project's folder");
    }
    let names = || {
        let names = path.split('/');
        names.filter(|name| !name.is_empty() && *name != ".")
    };
    if names().any(|name| name == "..") {
        return refused("leads out of the project's folder");
    }
    if names().any(|name| name.len() > LONGEST_NAME) {
        return refused("contains a name that is too long");
    }
    let path: Vec<&str> = names().collect();
    match path.is_empty() {
        true => refused("names no file"),
        false => Ok(path.join("/")),
    }
}

/// `C:` and `file:` alike.
fn has_drive(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    first.ends_with(':') || first.get(1..2) == Some(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_without_what_means_nothing() {
        let check = |path: &str, expected: &str| {
            assert_eq!(checked(path).expect("a good path"), expected, "{path}");
        };
        check("index.ts", "index.ts");
        check(
            "./supabase/functions/a b/ü.ts",
            "supabase/functions/a b/ü.ts",
        );
        check("a//b/./c.ts", "a/b/c.ts");
        check("..a/b..", "..a/b..");
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        let long_name = "a".repeat(256);
        let long_path = "a/".repeat(513);
        let bad = [
            "",
            ".",
            "/",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a/..",
            "a\\b",
            "a\0b",
            "a\nb",
            "C:/x",
            "file:///x",
            &long_name,
            &long_path,
        ];
        for path in bad {
            assert!(checked(path).is_err(), "{path:?}");
        }
    }
}
