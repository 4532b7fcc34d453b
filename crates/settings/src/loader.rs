//! Stacks the layers into one tree: command line > environment > file > stored > default.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::env_reference::Environment;
use crate::layers::{self, Layer, place_in};
use crate::path::SettingPath;
use crate::problem::{Findings, LoadError, Place, Problem};
use crate::settings::Settings;
use crate::value::Value;
use crate::{dotenv, rules, table};

/// Where settings come from. It does not keep the contents of files: each load reads them again, so
/// one loader serves a whole run with live changes.
///
/// ```
/// use plinth_settings::{Loader, keys};
///
/// let loaded = Loader::new()
///     .environment([("PLINTH_API_PORT".to_owned(), "8000".to_owned())])
///     .command_line("plinth.host", "0.0.0.0")
///     .load()?;
/// assert_eq!(loaded.settings.get(keys::api::PORT), 8000);
/// # Ok::<(), plinth_settings::LoadError>(())
/// ```
#[derive(Clone, Default)]
pub struct Loader {
    folder: Option<PathBuf>,
    config_text: Option<(PathBuf, String)>,
    environment: Environment,
    command_line: BTreeMap<String, String>,
    stored: serde_json::Map<String, serde_json::Value>,
    project_ref: Option<String>,
    is_partial: bool,
}

impl fmt::Debug for Loader {
    /// Without values: before they are loaded it is not known which of them are secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Loader")
            .field("folder", &self.folder)
            .field("command_line", &self.command_line.keys())
            .field("stored", &self.stored.keys())
            .field("project_ref", &self.project_ref)
            .finish_non_exhaustive()
    }
}

/// Valid settings, and warnings about them.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The tree.
    pub settings: Settings,
    /// Unknown and deprecated keys, references to variables that are not set.
    pub warnings: Vec<Problem>,
}

impl Loader {
    /// A loader without sources: it gives the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads `supabase/config.toml`, `supabase/.env` and `supabase/.env.local` of this project
    /// folder, as far as they exist.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Takes this text as the `config.toml` instead of the folder's; the name is for messages.
    pub fn config_text(mut self, name: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        self.config_text = Some((name.into(), text.into()));
        self
    }

    /// Takes these environment variables.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Takes the environment of this process. Variables that are not Unicode are left out.
    pub fn process_environment(self) -> Self {
        self.environment(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }))
    }

    /// Sets one setting, as with `--set`; this takes precedence over everything else.
    pub fn command_line(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.command_line.insert(path.into(), text.into());
        self
    }

    /// Takes the settings that operators stored, by name.
    pub fn stored(mut self, stored: serde_json::Map<String, serde_json::Value>) -> Self {
        self.stored = stored;
        self
    }

    /// Applies the `[remotes.<name>]` whose `project_id` is this ref.
    pub fn remote(mut self, project_ref: impl Into<String>) -> Self {
        self.project_ref = Some(project_ref.into());
        self
    }

    /// Checks values one by one only: what is given is a part of the settings, such as a file without
    /// its secrets, and the rest is elsewhere.
    pub fn partial(mut self) -> Self {
        self.is_partial = true;
        self
    }

    /// Reads all layers and checks everything, reporting all problems at once.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        let mut findings = Findings::default();
        let environment = self.merged_environment(&mut findings);
        let stored = layers::read_stored(&self.stored, &mut findings);
        let mut file = self.read_file(&environment, &mut findings);
        let command_line = layers::read_command_line(&self.command_line, &mut findings);
        let known: BTreeSet<SettingPath> = [&stored, &file, &command_line]
            .into_iter()
            .flat_map(|layer| layer.members.iter().cloned())
            .collect();
        let variables = layers::read_environment(&environment, &known, &mut findings);

        let unset = std::mem::take(&mut file.unset);
        let settings = Settings::stack([stored, file, variables, command_line]);
        // Rules about invalid values would only repeat those errors.
        if findings.errors.is_empty() && !self.is_partial {
            rules::check(&settings, &unset.keys().collect(), &mut findings);
        }
        warn_about_unset(&settings, unset, &mut findings);
        finish(settings, findings)
    }

    /// The given variables over those of `.env.local` over those of `.env`.
    fn merged_environment(&self, findings: &mut Findings) -> Environment {
        let mut environment = Environment::new();
        if let Some(folder) = &self.folder {
            for name in [".env", ".env.local"] {
                let path = folder.join("supabase").join(name);
                let Some(text) = read_if_present(&path, findings) else {
                    continue;
                };
                match dotenv::parse(&text) {
                    Ok(values) => environment.extend(values),
                    Err(line) => findings.errors.push(Problem {
                        place: place_in(&path, Some(line)),
                        key: None,
                        message: "this line is not of the form NAME=value.".to_owned(),
                    }),
                }
            }
        }
        environment.extend(self.environment.clone());
        environment
    }

    fn read_file(&self, environment: &Environment, findings: &mut Findings) -> Layer {
        let (path, text) = match (&self.config_text, &self.folder) {
            (Some((name, text)), _) => (name.clone(), text.clone()),
            (None, Some(folder)) => {
                let path = folder.join("supabase").join("config.toml");
                match read_if_present(&path, findings) {
                    Some(text) => (path, text),
                    None => {
                        warn_about_json(folder, findings);
                        return Layer::default();
                    }
                }
            }
            (None, None) => return Layer::default(),
        };
        layers::read_file(
            &path,
            &text,
            environment,
            self.project_ref.as_deref(),
            findings,
        )
    }
}

/// Checks values before they are stored; the error lists what is wrong with them, including
/// names that do not exist.
pub fn check_stored(stored: &serde_json::Map<String, serde_json::Value>) -> Result<(), LoadError> {
    let mut findings = Findings::default();
    layers::read_stored(stored, &mut findings);
    let problems = [findings.errors, findings.warnings].concat();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(LoadError {
            problems,
            warnings: Vec::new(),
        })
    }
}

/// The nearest folder, from `start` upwards, that has a `supabase/config.toml`.
pub fn find_project_folder(start: &Path) -> Option<PathBuf> {
    let has_config = |folder: &&Path| folder.join("supabase").join("config.toml").is_file();
    start.ancestors().find(has_config).map(Path::to_owned)
}

fn finish(settings: Settings, mut findings: Findings) -> Result<Loaded, LoadError> {
    findings.sort();
    let Findings { errors, warnings } = findings;
    if errors.is_empty() {
        Ok(Loaded { settings, warnings })
    } else {
        Err(LoadError {
            problems: errors,
            warnings,
        })
    }
}

fn read_if_present(path: &Path, findings: &mut Findings) -> Option<String> {
    match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => Some(text),
        Ok(Err(_)) => {
            findings.errors.push(Problem {
                place: place_in(path, None),
                key: None,
                message: "this file is not valid UTF-8 text.".to_owned(),
            });
            None
        }
        Err(error) if is_absent(&error) => None,
        Err(error) => {
            findings.errors.push(Problem {
                place: place_in(path, None),
                key: None,
                message: format!("this file cannot be read: {error}."),
            });
            None
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn warn_about_json(folder: &Path, findings: &mut Findings) {
    let path = folder.join("supabase").join("config.json");
    if path.is_file() {
        findings.warnings.push(Problem {
            place: place_in(&path, None),
            key: None,
            message: "this file is ignored; Plinth reads supabase/config.toml.".to_owned(),
        });
    }
}

/// Warns about missing variables, except where they do not matter: below a switch that is off, for
/// settings that Plinth ignores, and where a stronger layer sets the value.
fn warn_about_unset(
    settings: &Settings,
    unset: BTreeMap<SettingPath, (Place, Vec<String>)>,
    findings: &mut Findings,
) {
    for (path, (place, names)) in unset {
        let is_inert = table::find(&path).is_none_or(|declared| declared.declaration.is_inert());
        let is_given = settings
            .place_at(&path)
            .is_some_and(|given| *given != place);
        if is_inert || is_given || is_disabled(settings, &path) {
            continue;
        }
        for name in names {
            let message = format!("{path} refers to the variable {name}, which is not set.");
            findings.warn(place.clone(), &path, message);
        }
    }
}

fn is_disabled(settings: &Settings, path: &SettingPath) -> bool {
    let mut table = path.parent();
    while let Some(current) = table {
        let switch = current.child("enabled");
        if settings.value_by_path(&switch) == Some(&Value::Bool(false)) {
            return true;
        }
        table = current.parent();
    }
    false
}
