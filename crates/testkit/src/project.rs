//! A project without a platform.

use plinth_log::LogStore;
use plinth_project::{Project, ProjectDb, ProjectKeys, ProjectKind, ProjectRef};
use plinth_settings::{Loader, Settings, SettingsHandle};

use crate::{SECRET, keyset, project_keys};

/// What a test may choose of its project.
pub struct ProjectBuilder {
    reference: ProjectRef,
    db: ProjectDb,
    keys: ProjectKeys,
    settings: Settings,
    logs: Option<LogStore>,
}

impl ProjectBuilder {
    /// With a generated ref, the usual keys, default settings, and a log without readers.
    pub fn new(db: ProjectDb) -> Self {
        Self {
            reference: ProjectRef::generate(),
            db,
            keys: project_keys(keyset(SECRET)),
            settings: load_settings(&[]),
            logs: None,
        }
    }

    pub fn reference(self, reference: ProjectRef) -> Self {
        Self { reference, ..self }
    }

    pub fn keys(self, keys: ProjectKeys) -> Self {
        Self { keys, ..self }
    }

    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    pub fn logs(self, logs: LogStore) -> Self {
        let logs = Some(logs);
        Self { logs, ..self }
    }

    pub fn build(self) -> Project {
        let unread = || {
            let config = plinth_log::Config::default();
            let opened = LogStore::open(std::env::temp_dir(), config);
            opened.expect("a log store").0
        };
        Project::new(
            self.reference,
            ProjectKind::Default,
            self.db,
            self.keys,
            SettingsHandle::new(self.settings),
            self.logs.unwrap_or_else(unread),
        )
    }
}

/// Settings by name, later ones first; a whole file is called `config.toml`.
pub fn load_settings<'a>(pairs: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> Settings {
    let add = |loader: Loader, (name, value): &(&str, &str)| match *name {
        "config.toml" => loader.config_text(*name, *value),
        name => loader.command_line(name, *value),
    };
    let loader = pairs.into_iter().fold(Loader::new(), add);
    loader.load().expect("good settings").settings
}
