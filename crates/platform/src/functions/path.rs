//! Paths of source files. They come from outside and become files on disk, so they must not lead out
//! of their folder.

use crate::PlatformError;

const MAX_PATH_BYTES: usize = 1024;
/// Longest file name that common file systems accept.
const MAX_NAME_BYTES: usize = 255;

/// The normalized path: relative, with `/` between names, without empty names and `.`.
pub(super) fn normalized(path: &str) -> Result<String, PlatformError> {
    let invalid = |why: &str| {
        let path = path.escape_debug();
        Err(PlatformError::Invalid(format!("The path {path} {why}")))
    };
    if path.len() > MAX_PATH_BYTES {
        return invalid("is too long");
    }
    if path.contains('\\') || path.chars().any(char::is_control) {
        return invalid("contains a backslash or a control character");
    }
    if path.starts_with('/') || has_drive(path) {
        return invalid("is not relative to the project's folder");
    }
    let names = || {
        let names = path.split('/');
        names.filter(|name| !name.is_empty() && *name != ".")
    };
    if names().any(|name| name == "..") {
        return invalid("leads out of the project's folder");
    }
    if names().any(|name| name.len() > MAX_NAME_BYTES) {
        return invalid("contains a name that is too long");
    }
    let path: Vec<&str> = names().collect();
    if path.is_empty() {
        invalid("names no file")
    } else {
        Ok(path.join("/"))
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
    fn empty_names_and_dots_are_removed() {
        let check = |path: &str, expected: &str| {
            assert_eq!(normalized(path).expect("a good path"), expected, "{path}");
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
    fn paths_out_of_the_folder_are_rejected() {
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
            assert!(normalized(path).is_err(), "{path:?}");
        }
    }
}
