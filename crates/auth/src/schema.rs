//! The schema `auth` (auth contract §11): tables, types, grants and helper functions.
//!
//! This is the list of migrations; each file in `migrations/` begins with its reason.
//! `plinth_db::migrate` runs them.

mod required_columns;

use plinth_db::migrate::{Migration, MigrationSet};

pub use required_columns::REQUIRED_COLUMNS;

macro_rules! migration {
    ($version:literal, $name:literal, $file:literal) => {
        Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../migrations/", $file)),
        }
    };
}

/// The migrations of the `auth` schema.
pub const MIGRATIONS: MigrationSet = MigrationSet {
    service: "auth",
    migrations: &[
        migration!(1, "schema", "0001_schema.sql"),
        migration!(2, "request_helpers", "0002_request_helpers.sql"),
        migration!(3, "users", "0003_users.sql"),
        migration!(4, "sign_in_flows", "0004_sign_in_flows.sql"),
        migration!(5, "oauth_server", "0005_oauth_server.sql"),
        migration!(6, "sessions", "0006_sessions.sql"),
        migration!(7, "one_time_tokens", "0007_one_time_tokens.sql"),
        migration!(8, "mfa", "0008_mfa.sql"),
        migration!(9, "single_sign_on", "0009_single_sign_on.sql"),
        migration!(10, "custom_providers", "0010_custom_providers.sql"),
        migration!(11, "passkeys", "0011_passkeys.sql"),
        migration!(12, "bookkeeping", "0012_bookkeeping.sql"),
        migration!(13, "mailbox", "0013_mailbox.sql"),
        migration!(14, "audit_order", "0014_audit_order.sql"),
        migration!(15, "search", "0015_search.sql"),
        migration!(16, "search_pieces", "0016_search_pieces.sql"),
        migration!(17, "longer_pieces", "0017_longer_pieces.sql"),
        migration!(18, "ledger_access", "0018_ledger_access.sql"),
        migration!(19, "shared_rate_limits", "0019_shared_rate_limits.sql"),
        migration!(20, "gotrue_versions", "0020_gotrue_versions.sql"),
        migration!(21, "operator_roles", "0021_operator_roles.sql"),
        migration!(22, "operator_searches", "0022_operator_searches.sql"),
    ],
};

/// Columns that GoTrue reads as texts and that earlier versions left NULL, each with its table. Migration
/// 20 fills them; a schema that we do not migrate needs it too.
pub const NEVER_NULL: &[(&str, &str)] = &[
    ("mfa_factors", "secret"),
    ("mfa_challenges", "otp_code"),
    ("flow_state", "provider_access_token"),
    ("flow_state", "provider_refresh_token"),
    ("oauth_clients", "client_secret_hash"),
];

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_listed_in_order_under_its_own_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
        let mut on_disk: Vec<(String, String)> = fs::read_dir(&folder)
            .expect("the folder is part of the crate")
            .map(|entry| entry.expect("a readable entry").path())
            .map(|path| {
                let name = path
                    .file_name()
                    .expect("a file")
                    .to_string_lossy()
                    .into_owned();
                (name, fs::read_to_string(&path).expect("a text file"))
            })
            .collect();
        on_disk.sort();

        let listed: Vec<(String, String)> = MIGRATIONS
            .migrations
            .iter()
            .map(|m| (format!("{:04}_{}.sql", m.version, m.name), m.sql.to_owned()))
            .collect();

        assert_eq!(listed, on_disk);
    }

    #[test]
    fn a_migration_fills_what_must_not_be_null() {
        let migration = MIGRATIONS.migrations.iter().find(|m| m.version == 20);
        let sql = migration.expect("one of the files").sql;
        let updates: Vec<&str> = sql.lines().filter(|l| l.starts_with("update")).collect();

        let expected: Vec<String> = NEVER_NULL
            .iter()
            .map(|(table, column)| {
                format!("update auth.{table} set {column} = '' where {column} is null;")
            })
            .collect();

        assert_eq!(updates, expected);
    }

    #[test]
    fn versions_count_up_from_one_without_gaps() {
        let versions: Vec<i32> = MIGRATIONS.migrations.iter().map(|m| m.version).collect();

        assert_eq!(versions, (1..).take(versions.len()).collect::<Vec<_>>());
    }

    #[test]
    fn every_file_works_as_the_owner_of_the_schema_and_only_inside_its_transaction() {
        // Objects of the schema `plinth`, which belong to the administrating role.
        let of_plinth = ["mailbox", "ledger_access", "shared_rate_limits"];
        let of_the_schema = MIGRATIONS
            .migrations
            .iter()
            .filter(|migration| !of_plinth.contains(&migration.name));
        for migration in of_the_schema {
            assert!(
                migration
                    .sql
                    .contains("\nset local role supabase_auth_admin;\n"),
                "{} would leave objects to the wrong owner",
                migration.name
            );
        }
    }
}
