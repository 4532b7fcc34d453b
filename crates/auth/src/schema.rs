//! The schema `auth` (auth contract §11): its tables, types, rights and helper functions.
//!
//! Only the list of files is here; each file of `migrations/` opens with its reason. The runner
//! and its ledger are `plinth_db::migrate`; what the rows mean is the business of the modules that
//! own them.

mod needed;

use plinth_db::migrate::{Migration, MigrationSet};

pub use needed::NEEDED;

macro_rules! migration {
    ($version:literal, $name:literal, $file:literal) => {
        Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../migrations/", $file)),
        }
    };
}

/// What has to be installed in a project's database before the service can work there.
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
    ],
};

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
    fn versions_count_up_from_one_without_gaps() {
        let versions: Vec<i32> = MIGRATIONS.migrations.iter().map(|m| m.version).collect();

        assert_eq!(versions, (1..).take(versions.len()).collect::<Vec<_>>());
    }

    #[test]
    fn every_file_works_as_the_owner_of_the_schema_and_only_inside_its_transaction() {
        let of_the_schema = MIGRATIONS
            .migrations
            .iter()
            .filter(|migration| migration.name != "mailbox");
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
