//! The data folder: whether it holds a cluster, of which major version, and who owns it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::error::{Error, Result};

/// The folder that Postgres calls `PGDATA`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataDir {
    pub(crate) path: PathBuf,
    /// The major version that made the database, or `None` while there is none.
    pub(crate) major: Option<u32>,
}

impl DataDir {
    /// Inspects `<cluster_dir>/database`; fails if it holds anything but a database cluster.
    pub(crate) fn inspect(cluster_dir: &Path) -> Result<Self> {
        let path = cluster_dir.join("database");
        let is_filled = fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some());
        let version = fs::read_to_string(path.join("PG_VERSION"));
        match version.ok().and_then(|text| text.trim().parse().ok()) {
            Some(major) => Ok(Self {
                path,
                major: Some(major),
            }),
            None if is_filled => Err(Error::NotADatabase { path }),
            None => Ok(Self { path, major: None }),
        }
    }

    /// Whether a server of this major version can read what is there.
    pub(crate) fn ensure_readable_by(&self, server: u32) -> Result<()> {
        match self.major {
            Some(data) if data != server => Err(Error::OtherMajorVersion {
                path: self.path.clone(),
                data,
                server,
            }),
            _ => Ok(()),
        }
    }
}

/// The user who must run Postgres: the owner of the data folder, if it exists.
///
/// A root Plinth follows the owner, so that `sudo` on a folder of an ordinary user works.
pub(crate) fn owning_account(data_dir: &Path, chosen: Option<Account>) -> Result<Option<Account>> {
    let Ok(meta) = data_dir.metadata() else {
        return Ok(chosen);
    };
    let (uid, gid) = (meta.uid(), meta.gid());
    match chosen {
        Some(account) if account.uid == uid || uid == 0 => Ok(Some(account)),
        Some(_) => Ok(Some(Account {
            name: format!("#{uid}"),
            uid,
            gid,
        })),
        None => {
            let expected = rustix::process::geteuid().as_raw();
            if uid == expected {
                return Ok(None);
            }
            Err(Error::ForeignOwner {
                path: data_dir.to_owned(),
                owner: uid,
                expected,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster_dir_with(version: Option<&str>) -> tempfile::TempDir {
        let cluster_dir = tempfile::tempdir().unwrap();
        fs::create_dir(cluster_dir.path().join("database")).unwrap();
        if let Some(version) = version {
            fs::write(cluster_dir.path().join("database/PG_VERSION"), version).unwrap();
        }
        cluster_dir
    }

    #[test]
    fn the_version_of_the_data_is_read() {
        let cluster_dir = cluster_dir_with(Some("17\n"));
        assert_eq!(
            DataDir::inspect(cluster_dir.path()).unwrap().major,
            Some(17)
        );
    }

    #[test]
    fn a_missing_and_an_empty_folder_are_both_empty() {
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(DataDir::inspect(nothing.path()).unwrap().major, None);
        assert_eq!(
            DataDir::inspect(cluster_dir_with(None).path())
                .unwrap()
                .major,
            None
        );
    }

    #[test]
    fn a_folder_with_other_files_is_not_taken_for_a_database() {
        let cluster_dir = cluster_dir_with(None);
        fs::write(cluster_dir.path().join("database/holiday.jpg"), "").unwrap();

        let error = DataDir::inspect(cluster_dir.path()).unwrap_err();

        assert!(matches!(error, Error::NotADatabase { .. }), "{error}");
    }

    #[test]
    fn another_major_version_is_rejected_with_both_numbers() {
        let data_dir = DataDir {
            path: "/app/.plinth/database".into(),
            major: Some(17),
        };

        let error = data_dir.ensure_readable_by(18).unwrap_err().to_string();

        assert!(
            error.starts_with(
                "The database in /app/.plinth/database was made by PostgreSQL 17, \
                 but the server found is 18;"
            ),
            "{error}"
        );
        data_dir.ensure_readable_by(17).unwrap();
    }

    #[test]
    fn data_of_another_user_is_rejected_for_ordinary_users_and_followed_by_root() {
        let cluster_dir = cluster_dir_with(Some("18"));
        let data_dir = cluster_dir.path().join("database");
        let uid = data_dir.metadata().unwrap().uid();
        let other = Account {
            name: "other".to_owned(),
            uid: 4_000_001,
            gid: 4_000_001,
        };

        let followed = owning_account(&data_dir, Some(other.clone()))
            .unwrap()
            .unwrap();

        assert_eq!(followed.uid, if uid == 0 { other.uid } else { uid });
        assert_eq!(
            owning_account(&data_dir, None).unwrap(),
            None,
            "the data is ours"
        );
    }
}
