//! Fingerprints of the functions folder, to notice changes (functions contract §11).

use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    time::SystemTime,
};

const IGNORED_FOLDERS: [&str; 5] = [".git", "node_modules", ".vscode", ".idea", "vendor"];
const IGNORED_SUFFIXES: [&str; 4] = ["~", ".tmp", ".swp", ".swx"];

/// A limit for symbolic links in a circle.
const MAX_FILES: usize = 20_000;

/// A hash of each folder below the functions folder; `""` is everything that functions share.
pub(super) type Fingerprints = BTreeMap<String, u64>;

/// Hashes the size and modification time of every file.
pub(super) fn scan(folder: &Path) -> Fingerprints {
    let mut fingerprints = Fingerprints::new();
    let mut shared = DefaultHasher::new();
    let mut left = MAX_FILES;
    for entry in sorted_entries(folder) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.path().is_dir();
        if is_ignored(&name, is_folder) {
            continue;
        }
        if is_folder && super::is_valid_slug(&name) {
            let mut own = DefaultHasher::new();
            hash_path(&entry.path(), &mut own, &mut left);
            fingerprints.insert(name, own.finish());
        } else {
            hash_path(&entry.path(), &mut shared, &mut left);
        }
    }
    fingerprints.insert(String::new(), shared.finish());
    fingerprints
}

/// The fingerprint of a single file.
pub(super) fn fingerprint(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_path(path, &mut hasher, &mut 1);
    hasher.finish()
}

fn hash_path(path: &Path, hasher: &mut DefaultHasher, left: &mut usize) {
    let Ok(found) = fs::metadata(path) else {
        return;
    };
    if *left == 0 {
        return;
    }
    *left -= 1;
    path.hash(hasher);
    if !found.is_dir() {
        found.len().hash(hasher);
        let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        modified.hash(hasher);
        return;
    }
    for entry in sorted_entries(path) {
        let name = entry.file_name();
        let inner = entry.path();
        if !is_ignored(&name.to_string_lossy(), inner.is_dir()) {
            hash_path(&inner, hasher, left);
        }
    }
}

fn sorted_entries(folder: &Path) -> Vec<fs::DirEntry> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    entries
}

fn is_ignored(name: &str, is_folder: bool) -> bool {
    if is_folder {
        return IGNORED_FOLDERS.contains(&name);
    }
    name == ".DS_Store"
        || name.starts_with(".#")
        || name.starts_with("___")
        || IGNORED_SUFFIXES.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_change_shows_where_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "a/index.ts", "1");
        write(root, "b/index.ts", "1");
        write(root, "_shared/x.ts", "1");
        let before = scan(root);

        write(root, "a/index.ts", "longer");
        let after_own = scan(root);
        assert_ne!(after_own["a"], before["a"]);
        assert_eq!((after_own["b"], after_own[""]), (before["b"], before[""]));

        write(root, "_shared/x.ts", "longer");
        let after_shared = scan(root);
        assert_eq!(
            (after_shared["a"], after_shared["b"]),
            (after_own["a"], after_own["b"])
        );
        assert_ne!(after_shared[""], after_own[""]);
    }

    #[test]
    fn files_of_editors_and_tools_are_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "a/index.ts", "1");
        let before = scan(root);

        for name in [
            "a/.index.ts.swp",
            "a/index.ts~",
            "a/node_modules/x/y.js",
            "a/.#index.ts",
            ".git/HEAD",
            "a/.DS_Store",
        ] {
            write(root, name, "1");
        }

        assert_eq!(scan(root), before);
    }
}
