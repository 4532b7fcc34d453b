//! The SQL files of a project's folder: migrations in order, seeds by their patterns.

use std::{collections::BTreeMap, fs, io};

use plinth_platform::{MigrationFile, SeedFile};
use plinth_settings::{Settings, files_matching, keys};

use crate::{failure::Outcome, folder::Folder};

/// Migration files by version, and files with other names.
#[derive(Debug, Default)]
pub(crate) struct Migrations {
    pub(crate) files: Vec<MigrationFile>,
    pub(crate) skipped: Vec<String>,
}

/// Reads `supabase/migrations/`, which need not exist.
pub(crate) fn migrations(folder: &Folder) -> Outcome<Migrations> {
    let path = folder.migrations();
    let mut found = Migrations::default();
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(anyhow::anyhow!("cannot read {}: {error}", path.display()).into()),
    };
    let mut by_version: BTreeMap<String, MigrationFile> = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".sql") || !entry.file_type()?.is_file() {
            continue;
        }
        let sql = fs::read_to_string(entry.path())
            .map_err(|error| anyhow::anyhow!("cannot read {}: {error}", entry.path().display()))?;
        match MigrationFile::new(&name, sql) {
            Ok(file) => {
                if let Some(other) = by_version.insert(file.version.clone(), file) {
                    return Err(anyhow::anyhow!(
                        "two migrations have the version {}: {other} and {name}",
                        other.version
                    )
                    .into());
                }
            }
            Err(error) => found.skipped.push(error.to_string()),
        }
    }
    found.files = by_version.into_values().collect();
    Ok(found)
}

/// Reads the files of `db.seed.sql_paths`, in the order of the patterns, each once.
pub(crate) fn seeds(folder: &Folder, settings: &Settings) -> Outcome<Vec<SeedFile>> {
    if !settings.get(keys::db::SEED_ENABLED) {
        return Ok(Vec::new());
    }
    let base = folder.root.join("supabase");
    let mut seeds: Vec<SeedFile> = Vec::new();
    for pattern in settings.get(keys::db::SEED_SQL_PATHS) {
        for path in files_matching(&base, pattern) {
            let sql = fs::read_to_string(&path)
                .map_err(|error| anyhow::anyhow!("cannot read {}: {error}", path.display()))?;
            let shown = path.strip_prefix(&folder.root).unwrap_or(&path);
            let shown = shown.display().to_string();
            if !seeds.iter().any(|seed| seed.path == shown) {
                seeds.push(SeedFile { path: shown, sql });
            }
        }
    }
    Ok(seeds)
}

/// Local files that are not applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pending<'a> {
    /// To be applied, in order.
    pub(crate) next: Vec<&'a MigrationFile>,
    /// Not applied, but older than one that is: needs `--include-all`.
    pub(crate) out_of_order: Vec<&'a MigrationFile>,
}

pub(crate) fn pending<'a>(files: &'a [MigrationFile], applied: &[String]) -> Pending<'a> {
    let newest = applied.iter().max();
    let missing = files.iter().filter(|file| !applied.contains(&file.version));
    let (out_of_order, next) =
        missing.partition(|file| newest.is_some_and(|newest| file.version < *newest));
    Pending { next, out_of_order }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: &str) -> MigrationFile {
        MigrationFile {
            version: version.to_owned(),
            name: "x".to_owned(),
            sql: String::new(),
        }
    }

    #[test]
    fn files_older_than_the_newest_applied_one_are_out_of_order() {
        let files = [file("1"), file("2"), file("3")];
        let pending = pending(&files, &["2".to_owned()]);
        assert_eq!(pending.next, [&files[2]]);
        assert_eq!(pending.out_of_order, [&files[0]]);
    }
}
