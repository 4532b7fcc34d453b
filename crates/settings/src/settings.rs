//! The resolved settings, and look-ups by typed keys.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use crate::declaration::Declaration;
use crate::key::SettingKey;
use crate::keys::Map;
use crate::layers::{Entry, Layer};
use crate::path::SettingPath;
use crate::problem::Place;
use crate::table::{self, Declared};
use crate::value::Value;
use crate::value_type::ValueType;

/// Where a value comes from, the strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// An option of the command line.
    CommandLine,
    /// This environment variable.
    Environment(String),
    /// This file.
    File(PathBuf),
    /// Stored by operators.
    Stored,
    /// It is not set anywhere.
    Default,
}

impl Source {
    /// Whether operators cannot change the value because a stronger layer sets it.
    pub fn is_fixed(&self) -> bool {
        !matches!(self, Self::Stored | Self::Default)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => formatter.write_str("command line"),
            Self::Environment(name) => formatter.write_str(name),
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Stored => formatter.write_str("stored"),
            Self::Default => formatter.write_str("default"),
        }
    }
}

impl From<&Place> for Source {
    fn from(place: &Place) -> Self {
        match place {
            Place::CommandLine => Self::CommandLine,
            Place::Environment(name) => Self::Environment(name.clone()),
            Place::File { path, .. } => Self::File(path.clone()),
            Place::Stored => Self::Stored,
        }
    }
}

/// A setting that was looked up by its name.
#[derive(Debug, Clone)]
pub struct Setting<'a> {
    /// What is declared about it.
    pub declaration: &'static Declaration,
    /// Its value or default; absent when it is not set.
    pub value: Option<&'a Value>,
    /// Where the value comes from.
    pub source: Source,
}

/// All settings of one project, checked and immutable.
///
/// Settings are looked up by the typed keys in [`crate::keys`]. Members of maps that are not
/// configured have the defaults.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<SettingPath, Entry>,
    members: BTreeSet<SettingPath>,
}

impl Settings {
    /// Stacks layers, the weakest first.
    pub(crate) fn stack(layers: impl IntoIterator<Item = Layer>) -> Self {
        let mut settings = Self::default();
        for layer in layers {
            settings.values.extend(layer.values);
            settings.members.extend(layer.members);
        }
        settings
    }

    /// The value of a setting, or its default.
    ///
    /// ```
    /// use plinth_settings::{Settings, keys};
    ///
    /// let settings = Settings::default();
    /// assert_eq!(settings.get(keys::api::PORT), 54321);
    /// assert_eq!(settings.get(keys::plinth::DOMAIN), None);
    /// assert!(settings.get(keys::functions::VERIFY_JWT.of("hello")));
    /// ```
    ///
    /// Neither a wrong name nor a wrong type compiles:
    ///
    /// ```compile_fail,E0425
    /// # use plinth_settings::{Settings, keys};
    /// Settings::default().get(keys::api::PROT);
    /// ```
    ///
    /// ```compile_fail,E0308
    /// # use plinth_settings::{Settings, keys};
    /// let port: &str = Settings::default().get(keys::api::PORT);
    /// ```
    pub fn get<T: ValueType>(&self, key: SettingKey<'_, T>) -> T::Out<'_> {
        let path = key.setting_path();
        // A name that the map does not allow cannot be configured, so such a member has defaults.
        let declared = table::find(&path).or_else(|| table::declared(key.declaration().path()));
        let value = declared.and_then(|declared| self.value_at(&path, declared));
        T::read(value).expect("a form fixes type, kind and default together; a test reads all keys")
    }

    /// Where the value of a setting comes from.
    pub fn source_of<T>(&self, key: SettingKey<'_, T>) -> Source {
        self.source_at(&key.setting_path())
    }

    /// The names of a map's configured members, in order.
    pub fn members(&self, map: Map) -> Vec<&str> {
        self.members_at(&SettingPath::parse(map.path))
    }

    /// The setting with this dotted name; `None` when no such setting is declared.
    pub fn find(&self, name: &str) -> Option<Setting<'_>> {
        let path = SettingPath::parse(name);
        let declared = table::find(&path)?;
        Some(Setting {
            declaration: declared.declaration,
            value: self.value_at(&path, declared),
            source: self.source_at(&path),
        })
    }

    /// Whether both have the same values, sources and members.
    pub fn is_same(&self, other: &Self) -> bool {
        let entries = |settings: &Self| -> Vec<(SettingPath, Value, Source)> {
            settings
                .values
                .iter()
                .map(|(path, entry)| (path.clone(), entry.value.clone(), (&entry.place).into()))
                .collect()
        };
        self.members == other.members && entries(self) == entries(other)
    }

    pub(crate) fn value_at<'a>(
        &'a self,
        path: &SettingPath,
        declared: &'static Declared,
    ) -> Option<&'a Value> {
        self.values
            .get(path)
            .map(|entry| &entry.value)
            .or(declared.default.as_ref())
    }

    /// The value or default at a path; absent also when no such setting is declared.
    pub(crate) fn value_by_path(&self, path: &SettingPath) -> Option<&Value> {
        self.value_at(path, table::find(path)?)
    }

    pub(crate) fn source_at(&self, path: &SettingPath) -> Source {
        self.values
            .get(path)
            .map_or(Source::Default, |entry| (&entry.place).into())
    }

    pub(crate) fn assigned_paths(&self) -> impl Iterator<Item = &SettingPath> {
        self.values.keys()
    }

    pub(crate) fn place_at(&self, path: &SettingPath) -> Option<&Place> {
        self.values.get(path).map(|entry| &entry.place)
    }

    pub(crate) fn members_at(&self, map: &SettingPath) -> Vec<&str> {
        self.members
            .iter()
            .filter_map(|member| {
                let (name, parent) = member.segments().split_last()?;
                (parent == map.segments()).then_some(name.as_str())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::keys::{
        self, api, auth, auth_external, functions, plinth, plinth_functions, plinth_storage,
    };

    #[test]
    fn every_declared_setting_has_a_value_without_a_file() {
        let settings = Settings::default();

        for key in keys::all() {
            let path = key.path().replace('*', "google");
            let path = if key.path().starts_with("auth.hook") {
                key.path().replace('*', "send_email")
            } else {
                path
            };
            let setting = settings.find(&path).expect("declared");
            assert_eq!(setting.value, key.default_value().as_ref(), "{path}");
            assert_eq!(setting.source, Source::Default);
        }
    }

    #[test]
    fn typed_questions_reach_the_defaults() {
        let settings = Settings::default();

        assert_eq!(settings.get(api::PORT), 54321);
        assert_eq!(settings.get(api::SCHEMAS), ["public", "graphql_public"]);
        assert_eq!(settings.get(plinth::LIMITS_MAX_BODY), 50 << 20);
        // The bound that docs/storage.md names, on any number of cores.
        assert_eq!(settings.get(plinth_storage::IMAGES_MAX_MEMORY), 256 << 20);
        let lifetime = settings.get(plinth::POOL_MAX_LIFETIME);
        assert_eq!(lifetime, Duration::from_secs(1800));
        let gitlab = settings.get(auth_external::URL.of("gitlab"));
        assert_eq!(gitlab, Some(settings.get(auth_external::GITLAB_URL)));
        assert_eq!(settings.get(auth_external::URL.of("azure")), None);
        assert_eq!(settings.get(auth::JWT_SECRET), None);
        assert_eq!(settings.get(plinth_functions::DENIED_PORTS), [25, 587]);
        assert!(settings.get(functions::VERIFY_JWT.of("never-mentioned")));
        assert!(settings.members(functions::FUNCTIONS).is_empty());
    }

    #[test]
    fn a_member_name_that_is_not_allowed_has_the_defaults() {
        let settings = Settings::default();

        assert_eq!(settings.get(auth_external::CLIENT_ID.of("nobody")), None);
        assert!(settings.get(functions::ENABLED.of("a b")));
    }

    #[test]
    fn a_name_may_be_unknown() {
        let settings = Settings::default();

        assert!(settings.find("auth.nonsense").is_none());
        let port = settings.find("api.port").expect("declared");
        assert_eq!(port.declaration.path(), "api.port");
        assert_eq!(port.value, Some(&Value::Integer(54321)));
        assert_eq!(port.source, Source::Default);
    }
}
