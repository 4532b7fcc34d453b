//! PostgreSQL as operating systems install it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that hold `<prefix><major><suffix>`, by packager.
const VERSIONED: [(&str, &str, &str); 5] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/opt/homebrew/opt", "postgresql@", "bin"),
    ("/usr/local/opt", "postgresql@", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
];

/// Every folder worth a look: what `pg_config` names, then the usual places, newest version first.
pub(super) fn bin_dirs() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = configured_bin_dir().into_iter().collect();
    for (parent, prefix, suffix) in VERSIONED {
        for folder in newest_first(Path::new(parent), prefix) {
            let bin_dir = folder.join(suffix);
            if !found.contains(&bin_dir) {
                found.push(bin_dir);
            }
        }
    }
    found
}

fn configured_bin_dir() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    let printed = printed.trim();
    (output.status.success() && !printed.is_empty()).then(|| PathBuf::from(printed))
}

/// Folders below `parent` called `<prefix><number>`, the highest number first.
fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let major = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((major, entry.path()))
        })
        .collect();
    found.sort_by_key(|(major, _)| std::cmp::Reverse(*major));
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_sorted_as_numbers_and_other_names_ignored() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["pg9", "pg15", "pg18", "pgx", "other"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }

        let names: Vec<_> = newest_first(parent.path(), "pg")
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();

        assert_eq!(names, ["pg18", "pg15", "pg9"]);
        assert!(newest_first(Path::new("/nowhere at all"), "").is_empty());
    }
}
