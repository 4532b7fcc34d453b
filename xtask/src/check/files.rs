//! The files that people write, without what tools make of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// Folders that are installed, built or kept by a running Plinth.
const MADE_BY_TOOLS: [&str; 6] = [".git", ".plinth", ".temp", "dist", "node_modules", "target"];

/// All files below `folder`, sorted, without those that tools made.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("{} cannot be listed", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            if kind.is_dir() && !MADE_BY_TOOLS.iter().any(|made| name == *made) {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_packages_and_build_results_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in ["b/c.rs", "a.rs", "b/node_modules/x.js", "target/debug/y.d"] {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, "").expect("a file");
        }

        let found = list(folder.path()).expect("readable");

        assert_eq!(
            found,
            [folder.path().join("a.rs"), folder.path().join("b/c.rs")]
        );
    }
}
