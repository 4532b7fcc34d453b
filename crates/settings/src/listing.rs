//! Settings one by one, as the console shows and changes them.

use crate::{
    declaration::Declaration,
    keys,
    kind::Kind,
    path::SettingPath,
    problem::Place,
    settings::{Settings, Source},
    table,
    value::Value,
};

/// Who decides a setting, and when a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Of each project; changes apply to the next request.
    Project,
    /// Of each project, but a limit to what the project may use of the server.
    Limit,
    /// Of the whole process, or of files beside it: read when Plinth starts.
    Process,
}

/// Read once, when the process starts, and the same for all projects.
const PROCESS: [&str; 26] = [
    "api.external_url",
    "api.port",
    "api.tls.",
    "auth.anon_key",
    "auth.jwt_secret",
    "auth.publishable_key",
    "auth.secret_key",
    "auth.service_role_key",
    "db.",
    "plinth.account.path",
    "plinth.functions.env_file",
    "plinth.functions.import_map",
    "plinth.functions.internal_url",
    "plinth.functions.max_workers_total",
    "plinth.nats.",
    "plinth.storage.adopt",
    "plinth.storage.backend",
    "plinth.storage.fsync",
    "plinth.storage.gc.every",
    "plinth.storage.gc.scan_every",
    "plinth.storage.images.cache_bytes",
    "plinth.storage.images.max_memory",
    "plinth.storage.images.workers",
    "plinth.storage.path",
    "plinth.storage.s3.",
    "project_id",
];

/// Sections below `plinth` that belong to each project; the others are the program's.
const OF_PROJECTS: [&str; 6] = [
    "plinth.account.",
    "plinth.auth.",
    "plinth.functions.",
    "plinth.realtime.",
    "plinth.rest.",
    "plinth.storage.",
];

/// What one project may use of a server that it shares with others.
const LIMITS: [&str; 2] = [
    "plinth.auth.custom_providers.allow_local_urls",
    "plinth.functions.",
];

impl Declaration {
    /// Who decides it. Files are read with the server's rights, so their names are never a project's.
    pub fn reach(&self) -> Reach {
        let path = self.path();
        let is_below = |known: &str| match known.strip_suffix('.') {
            Some(_) => path.starts_with(known),
            None => path == known,
        };
        let is_of_program =
            path.starts_with("plinth.") && !OF_PROJECTS.iter().any(|known| is_below(known));
        if is_of_program || PROCESS.iter().any(|known| is_below(known)) || self.kind() == Kind::Path
        {
            Reach::Process
        } else if LIMITS.iter().any(|known| is_below(known)) {
            Reach::Limit
        } else {
            Reach::Project
        }
    }
}

/// One setting of a project.
#[derive(Debug, Clone)]
pub struct Listed<'a> {
    /// Dotted name.
    pub name: String,
    /// What is declared about it.
    pub declaration: &'static Declaration,
    /// Its value or default.
    pub value: Option<&'a Value>,
    /// The default of this setting.
    pub default: Option<&'static Value>,
    /// Where the value comes from.
    pub source: Source,
    /// Where the value is written, with line and column if it is in a file.
    pub place: Option<&'a Place>,
}

impl Settings {
    /// All settings. Those of maps appear once for each configured member.
    pub fn list(&self) -> Vec<Listed<'_>> {
        keys::all()
            .flat_map(|key| key.paths(self))
            .filter_map(|path| self.listed(path))
            .collect()
    }

    /// The settings that are set anywhere.
    pub fn list_assigned(&self) -> Vec<Listed<'_>> {
        let paths = self.assigned_paths().cloned();
        paths.filter_map(|path| self.listed(path)).collect()
    }

    /// The setting of this name, which older and shorter names of it also find.
    pub fn find_listed(&self, name: &str) -> Option<Listed<'_>> {
        let written = SettingPath::parse(name);
        self.listed(crate::aliases::canonical(&written).unwrap_or(written))
    }

    fn listed(&self, path: SettingPath) -> Option<Listed<'_>> {
        let declared = table::find(&path)?;
        Some(Listed {
            name: path.to_string(),
            declaration: declared.declaration,
            value: self.value_at(&path, declared),
            default: declared.default.as_ref(),
            source: self.source_at(&path),
            place: self.place_at(&path),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::Loader;

    fn reach(name: &str) -> Reach {
        let settings = Settings::default();
        let found = settings.find_listed(name).expect("declared");
        found.declaration.reach()
    }

    #[test]
    fn services_are_a_projects_and_the_program_is_not() {
        for name in [
            "auth.site_url",
            "api.max_rows",
            "storage.file_size_limit",
            "plinth.rest.db_pool_acquisition_timeout",
            "functions.hello.verify_jwt",
        ] {
            if Settings::default().find_listed(name).is_some() {
                assert_eq!(reach(name), Reach::Project, "{name}");
            }
        }
        for name in [
            "plinth.host",
            "plinth.trash",
            "api.port",
            "db.port",
            "plinth.storage.backend",
            "plinth.storage.path",
            "plinth.nats.url",
            "plinth.metrics_token",
            "auth.email.template.invite.content_path",
        ] {
            assert_eq!(reach(name), Reach::Process, "{name}");
        }
        assert_eq!(reach("plinth.functions.memory"), Reach::Limit);
    }

    #[test]
    fn every_path_is_read_from_files_only() {
        for declaration in keys::all().filter(|key| key.kind() == Kind::Path) {
            assert_eq!(declaration.reach(), Reach::Process, "{declaration:?}");
        }
    }

    #[test]
    fn the_lists_of_names_name_settings() {
        let named = PROCESS.iter().chain(&OF_PROJECTS).chain(&LIMITS);
        for known in named {
            let mut all = keys::all();
            assert!(all.any(|key| key.path().starts_with(known)), "{known}");
        }
    }

    #[test]
    fn members_of_maps_are_listed_with_their_places() {
        let text = "[functions.hello]\nverify_jwt = false";
        let loaded = Loader::new().config_text("config.toml", text).load();
        let settings = loaded.expect("valid").settings;

        let assigned = settings.list_assigned();

        assert_eq!(assigned.len(), 1);
        assert_eq!(assigned[0].name, "functions.hello.verify_jwt");
        let place = assigned[0].place.expect("a place").to_string();
        assert_eq!(place, "config.toml, line 2");
        let all = settings.list();
        assert!(all.len() > 300, "{}", all.len());
        assert!(all.iter().any(|it| it.name == "functions.hello.enabled"));
    }
}
