//! A PostgreSQL that has PostGIS, which both suites use and ours does not bring along.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The oldest version that Plinth and the suites work with.
const OLDEST: u32 = 15;

const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder of its programs, or a sentence on what to install.
pub(super) fn find(named: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(folder) = named {
        return if has_postgis(folder) {
            Ok(folder.to_owned())
        } else {
            Err(format!(
                "PostGIS for the PostgreSQL of {}",
                folder.display()
            ))
        };
    }
    let mut versions: Vec<u32> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|version| *version >= OLDEST)
        .collect();
    versions.sort_unstable();
    versions
        .iter()
        .rev()
        .map(|version| Path::new(DEBIAN).join(version.to_string()).join("bin"))
        .find(|folder| has_postgis(folder))
        .ok_or_else(|| missing(versions.last().copied()))
}

fn missing(newest: Option<u32>) -> String {
    let version = newest.unwrap_or(OLDEST);
    format!(
        "PostgreSQL {OLDEST} or later with PostGIS; on Debian the packages postgresql-{version} and \
         postgresql-{version}-postgis-3, elsewhere name its programs with --pg-bin"
    )
}

fn has_postgis(bin: &Path) -> bool {
    let output_result = Command::new(bin.join("pg_config"))
        .arg("--sharedir")
        .output();
    let Ok(output) = output_result else {
        return false;
    };
    let folder = String::from_utf8_lossy(&output.stdout);
    let control = Path::new(folder.trim()).join("extension/postgis.control");
    bin.join("initdb").is_file() && bin.join("psql").is_file() && control.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_folder_without_postgis_is_not_replaced_by_another() {
        let error = find(Some(Path::new("/nowhere"))).expect_err("there is nothing");
        assert_eq!(error, "PostGIS for the PostgreSQL of /nowhere");
    }

    #[test]
    fn the_packages_to_install_are_those_of_the_version_that_is_there() {
        assert!(missing(Some(17)).contains("postgresql-17-postgis-3"));
        assert!(missing(None).contains("postgresql-15 and postgresql-15-postgis-3"));
    }
}
