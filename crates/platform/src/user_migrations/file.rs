//! Names of migration files.

use std::fmt;

/// One file of `supabase/migrations/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationFile {
    /// The digits that the file's name starts with; usually a UTC time of 14 digits.
    pub version: String,
    /// What follows the digits, without the extension.
    pub name: String,
    /// Its content.
    pub sql: String,
}

/// The file name is not of the form `<digits>_<name>.sql`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}: expected <digits>_<name>.sql")]
pub struct MigrationNameError(pub String);

impl MigrationFile {
    /// Reads version and name out of a file's name.
    pub fn new(file_name: &str, sql: String) -> Result<Self, MigrationNameError> {
        let bad = || MigrationNameError(file_name.to_owned());
        let stem = file_name.strip_suffix(".sql").ok_or_else(bad)?;
        let (version, name) = stem.split_once('_').ok_or_else(bad)?;
        if version.is_empty() || !version.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        Ok(Self {
            version: version.to_owned(),
            name: name.to_owned(),
            sql,
        })
    }

    /// Whether the file is to run outside a transaction, as `create index concurrently` requires.
    pub(crate) fn runs_without_transaction(&self) -> bool {
        let first = self.sql.lines().next().unwrap_or_default().trim();
        first
            .strip_prefix("--")
            .is_some_and(|comment| comment.trim() == "plinth: no-transaction")
    }
}

impl fmt::Display for MigrationFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}.sql", self.version, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_name_come_from_the_file_name() {
        let file = MigrationFile::new("20240102030405_add_todos.sql", String::new());
        let file = file.expect("a good name");
        assert_eq!(
            (file.version.as_str(), file.name.as_str()),
            ("20240102030405", "add_todos")
        );
    }

    #[test]
    fn other_names_are_rejected() {
        for bad in [
            "README.md",
            "todo.sql",
            "_x.sql",
            "2024a_x.sql",
            "20240102.sql",
        ] {
            assert!(MigrationFile::new(bad, String::new()).is_err(), "{bad}");
        }
    }
}
