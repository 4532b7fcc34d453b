//! All settings: one declaration each, one file per section of `config.toml`.
//!
//! The official sections follow the published configuration schema (`@supabase/config` 0.9) and
//! the few newer keys that the official tool's template writes; Plinth's own stand below `plinth`.
//!
//! A constant is named after the setting, without the section that its module stands for:
//! `plinth.storage.s3.bucket` is [`plinth_storage::S3_BUCKET`]. A setting added here is at once
//! checked, defaulted, read from the environment, suggested for misspellings and printed in the
//! reference.

/// Declares the settings of a section: a typed key for each, and the list of them all. The doc
/// comment of a key is its description in the reference.
macro_rules! keys {
    ($(
        $(#[doc = $meaning:literal])+
        pub const $name:ident: $key:ty =
            $form:ident($path:literal $($argument:tt)*) $(.$modifier:ident())?;
    )+) => {
        $(
            $(#[doc = $meaning])+
            #[doc = concat!("\n\nSetting `", $path, "`.")]
            pub const $name: $key = <$key>::declare(
                crate::form::$form($path $($argument)*) $(.$modifier())?,
                concat!($($meaning),+),
            );
        )+

        pub(super) const SECTION: super::Section = super::Section {
            declarations: &[$($name.declaration()),+],
            #[cfg(test)]
            module: module_path!(),
            #[cfg(test)]
            constants: &[$(stringify!($name)),+],
            #[cfg(test)]
            read_all: |settings| { $($name.read_in_test(settings);)+ },
        };
    };
}

pub mod analytics;
pub mod api;
pub mod auth;
pub mod auth_email;
pub mod auth_external;
pub mod auth_hook;
pub mod auth_mfa;
pub mod auth_sms;
pub mod compute;
pub mod db;
pub mod edge_runtime;
pub mod experimental;
pub mod functions;
pub mod local_smtp;
mod maps;
pub mod plinth;
pub mod plinth_account;
pub mod plinth_auth;
pub mod plinth_functions;
pub mod plinth_nats;
pub mod plinth_realtime;
pub mod plinth_rest;
pub mod plinth_storage;
pub mod project;
pub mod realtime;
pub mod storage;
pub mod studio;

use crate::declaration::Declaration;

pub use maps::Map;
pub(crate) use maps::{MAPS, Members};

/// Any count that is not negative.
const COUNT: (i64, i64) = (0, i64::MAX);
/// Any count of at least one.
const AT_LEAST_ONE: (i64, i64) = (1, i64::MAX);

/// What one file declares.
struct Section {
    declarations: &'static [Declaration],
    #[cfg(test)]
    module: &'static str,
    #[cfg(test)]
    constants: &'static [&'static str],
    /// Looks every key up.
    #[cfg(test)]
    read_all: fn(&crate::Settings),
}

const SECTIONS: [Section; 26] = [
    project::SECTION,
    api::SECTION,
    db::SECTION,
    auth::SECTION,
    auth_email::SECTION,
    auth_sms::SECTION,
    auth_mfa::SECTION,
    auth_external::SECTION,
    auth_hook::SECTION,
    realtime::SECTION,
    storage::SECTION,
    edge_runtime::SECTION,
    functions::SECTION,
    studio::SECTION,
    local_smtp::SECTION,
    analytics::SECTION,
    compute::SECTION,
    experimental::SECTION,
    plinth::SECTION,
    plinth_auth::SECTION,
    plinth_account::SECTION,
    plinth_functions::SECTION,
    plinth_nats::SECTION,
    plinth_realtime::SECTION,
    plinth_rest::SECTION,
    plinth_storage::SECTION,
];

/// All settings, in the order of the reference.
pub fn all() -> impl Iterator<Item = &'static Declaration> {
    SECTIONS
        .into_iter()
        .flat_map(|section| section.declarations)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::kind::Kind;
    use crate::loader::Loader;
    use crate::settings::Settings;

    /// Sets every setting.
    const FILE: &str = include_str!("../../tests/every_setting.toml");

    #[test]
    fn every_key_reads_values_of_its_type() {
        let loaded = Loader::new().config_text("every_setting.toml", FILE).load();
        let written = loaded.unwrap_or_else(|error| panic!("{error}")).settings;

        for section in SECTIONS {
            (section.read_all)(&Settings::default());
            (section.read_all)(&written);
        }
    }

    #[test]
    fn constants_are_named_after_their_settings() {
        for section in SECTIONS {
            let module = section.module.rsplit("::").next().unwrap_or_default();
            for (constant, declaration) in section.constants.iter().zip(section.declarations) {
                let path = declaration.path().replace(".*", "").replace('.', "_");

                assert_eq!(format!("{module}_{}", constant.to_lowercase()), path);
            }
        }
    }

    /// Keys that the macro did not declare would be missing in the list.
    #[test]
    fn every_key_is_in_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/keys");
        let files = std::fs::read_dir(folder).expect("the folder of this file");
        let declared = files.map(|file| {
            let text = std::fs::read_to_string(file.expect("an entry").path()).expect("a file");
            let is_key = |line: &&str| line.contains("pub const ") && line.contains("Key<");
            text.lines().filter(is_key).count()
        });

        assert_eq!(declared.sum::<usize>(), all().count() + 1, "1: this test");
    }

    #[test]
    fn every_member_key_belongs_to_a_map() {
        for declaration in all().filter(|declaration| declaration.is_wildcard()) {
            let map = declaration.path().split_once(".*.").map(|(map, _)| map);

            assert!(
                MAPS.iter().any(|declared| Some(declared.path) == map),
                "{}",
                declaration.path()
            );
        }
    }

    #[test]
    fn a_member_with_a_declaration_of_its_own_keeps_the_kind() {
        let exact = |declaration: &&Declaration| !declaration.is_wildcard();
        for declaration in all().filter(exact) {
            for map in MAPS {
                let inside = declaration.path().strip_prefix(map.path);
                let Some((_, field)) = inside.and_then(|rest| rest[1..].split_once('.')) else {
                    continue;
                };
                let common = all().find(|key| key.path() == format!("{}.*.{field}", map.path));

                assert_eq!(
                    common.map(Declaration::kind),
                    Some(declaration.kind()),
                    "{}",
                    declaration.path()
                );
            }
        }
    }

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
        let paths: BTreeSet<_> = all().map(Declaration::path).collect();

        for path in &paths {
            let inside = format!("{path}.");
            assert!(
                !paths.iter().any(|other| other.starts_with(&inside)),
                "{path}"
            );
        }
    }
}
