//! Which settings people may change, and what a name and a value may look like.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Settings that Plinth must own, with what depends on them.
const OWNED: [(&str, &str); 18] = [
    ("config_file", PLACE),
    ("data_directory", PLACE),
    ("external_pid_file", PLACE),
    ("hba_file", ACCESS),
    ("ident_file", ACCESS),
    ("include", PLACE),
    ("include_dir", PLACE),
    ("include_if_exists", PLACE),
    ("listen_addresses", ACCESS),
    ("port", ACCESS),
    ("unix_socket_directories", ACCESS),
    ("unix_socket_group", ACCESS),
    ("unix_socket_permissions", ACCESS),
    ("log_destination", LOG),
    ("log_line_prefix", LOG),
    ("logging_collector", LOG),
    ("lc_messages", LOG),
    ("wal_level", "realtime needs it to be `logical`"),
];
const PLACE: &str = "Plinth decides where the server keeps its files";
const ACCESS: &str = "Plinth decides who can reach the server; its own port is a setting of Plinth";
const LOG: &str = "Plinth reads the server's log";

/// Checks names and values of operator-supplied settings. Whether PostgreSQL knows a setting and
/// accepts its value only shows when it starts.
pub fn check(overrides: &BTreeMap<String, String>) -> Result<()> {
    for (name, value) in overrides {
        let bad = |reason: &str| Error::BadSetting {
            name: name.clone(),
            reason: reason.to_owned(),
        };
        if !is_name(name) {
            return Err(bad(
                "a name consists of letters, digits and `_`, as in `work_mem`",
            ));
        }
        if let Some((_, reason)) = OWNED
            .iter()
            .find(|(owned, _)| name.eq_ignore_ascii_case(owned))
        {
            return Err(bad(reason));
        }
        if value.chars().any(char::is_control) {
            return Err(bad("its value must be one line of text"));
        }
    }
    Ok(())
}

/// `work_mem` or, for an extension's setting, `pg_stat_statements.max`.
fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    name.len() < 128 && name.splitn(2, '.').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(name: &str, value: &str) -> Result<()> {
        check(&BTreeMap::from([(name.to_owned(), value.to_owned())]))
    }

    #[test]
    fn ordinary_settings_pass() {
        check_one("work_mem", "64MB").unwrap();
        check_one("pg_stat_statements.track", "all").unwrap();
        check_one("search_path", "\"$user\", public, 'x'").unwrap();
    }

    #[test]
    fn settings_that_plinth_owns_are_rejected_in_any_spelling() {
        for name in [
            "listen_addresses",
            "PORT",
            "Hba_File",
            "include",
            "wal_level",
        ] {
            let error = check_one(name, "x").unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn names_and_values_cannot_smuggle_in_other_lines() {
        for name in ["", "a b", "a=b", "a\nport", "1a", "a.b.c", "a.", ".a", "ä"] {
            assert!(check_one(name, "x").is_err(), "{name:?}");
        }
        for value in ["a\nport = 1", "a\0", "a\r"] {
            assert!(check_one("work_mem", value).is_err(), "{value:?}");
        }
    }
}
