//! The table of all settings: one declaration each, one file per section of `config.toml`.
//!
//! The official sections follow the published configuration schema (`@supabase/config` 0.9) and
//! the few newer keys that the official tool's template writes; Plinth's own stand below `plinth`.
//! A setting added here is at once checked, defaulted, read from the environment, suggested for
//! misspellings and printed in the reference.

mod analytics;
mod api;
mod auth;
mod auth_email;
mod auth_external;
mod auth_hook;
mod auth_mfa;
mod auth_sms;
mod compute;
mod db;
mod edge_runtime;
mod experimental;
mod functions;
mod local_smtp;
mod maps;
mod plinth;
mod plinth_account;
mod plinth_auth;
mod plinth_functions;
mod plinth_nats;
mod plinth_realtime;
mod plinth_rest;
mod plinth_storage;
mod project;
mod realtime;
mod storage;
mod studio;

use crate::key::Key;

pub(crate) use maps::{MAPS, Members};

/// Any count that is not negative.
const COUNT: (i64, i64) = (0, i64::MAX);
/// Any count of at least one.
const AT_LEAST_ONE: (i64, i64) = (1, i64::MAX);

const SECTIONS: [&[Key]; 26] = [
    project::KEYS,
    api::KEYS,
    db::KEYS,
    auth::KEYS,
    auth_email::KEYS,
    auth_sms::KEYS,
    auth_mfa::KEYS,
    auth_external::KEYS,
    auth_hook::KEYS,
    realtime::KEYS,
    storage::KEYS,
    edge_runtime::KEYS,
    functions::KEYS,
    studio::KEYS,
    local_smtp::KEYS,
    analytics::KEYS,
    compute::KEYS,
    experimental::KEYS,
    plinth::KEYS,
    plinth_auth::KEYS,
    plinth_account::KEYS,
    plinth_functions::KEYS,
    plinth_nats::KEYS,
    plinth_realtime::KEYS,
    plinth_rest::KEYS,
    plinth_storage::KEYS,
];

/// All settings, in the order of the reference.
pub fn all() -> impl Iterator<Item = &'static Key> {
    SECTIONS.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::kind::Kind;

    #[test]
    fn every_setting_is_declared_once() {
        let mut paths = BTreeSet::new();
        let mut variables = BTreeSet::new();

        for key in all() {
            assert!(paths.insert(key.path()), "{} is declared twice", key.path());
            for name in key.environment_names() {
                assert!(
                    variables.insert(name.clone()),
                    "{name} is set by two settings"
                );
            }
        }
    }

    #[test]
    fn every_default_has_the_declared_form_and_none_is_a_secret() {
        for key in all() {
            // Reading a default of another form panics.
            let default = key.default_value();

            assert!(
                key.kind() != Kind::Secret || default.is_none(),
                "{}",
                key.path()
            );
        }
    }

    #[test]
    fn every_setting_says_what_it_does_in_one_sentence() {
        for key in all() {
            assert!(key.meaning().ends_with('.'), "{}", key.path());
            assert!(!key.meaning().contains('\n'), "{}", key.path());
            assert!(key.meaning().len() > 10, "{}", key.path());
        }
    }

    #[test]
    fn no_setting_is_a_table_of_another() {
        let paths: BTreeSet<_> = all().map(Key::path).collect();

        for path in &paths {
            let inside = format!("{path}.");
            assert!(
                !paths.iter().any(|other| other.starts_with(&inside)),
                "{path}"
            );
        }
    }
}
