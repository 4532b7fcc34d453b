//! The functions of the folder that Plinth was started in (functions contract §6, §11).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use plinth_project::Project;
use plinth_settings::{
    Secret, SettingKey, Settings, files_matching,
    keys::{functions as keys, plinth_functions},
};

use super::{
    Function, Origin, is_valid_slug,
    scan::{Fingerprints, fingerprint, scan},
};
use crate::{
    account::{Account, deno_dir_name},
    code::Code,
    metrics::FunctionMetrics,
};

/// Bytes of all paths of static files outside of the folder; a single argument has at most twice as many.
const MAX_STATIC_PATH_BYTES: usize = 64 << 10;

/// Functions by name.
pub(crate) type Functions = Arc<BTreeMap<String, Arc<Function>>>;

/// The functions in `supabase/functions`, read again when they change.
pub(crate) struct FolderFunctions {
    /// `supabase`: paths in the settings are relative to it.
    folder: PathBuf,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    settings: Option<Arc<Settings>>,
    fingerprints: Fingerprints,
    /// By name, so that a function that did not change stays the same `Arc`.
    revisions: BTreeMap<String, u64>,
    functions: Functions,
}

/// The directory of a project's prepared functions, and the user that owns them.
pub(crate) struct ProjectHome<'a> {
    pub(crate) path: PathBuf,
    pub(crate) account: Option<Account>,
    pub(crate) project: &'a Project,
}

impl FolderFunctions {
    /// For a folder with `supabase` in it.
    pub(crate) fn new(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self {
            folder: root.join("supabase"),
            cache: Mutex::default(),
        }
    }

    fn functions_folder(&self) -> PathBuf {
        self.folder.join("functions")
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As of the last snapshot of the folder, with the current settings.
    pub(crate) fn current(&self, home: &ProjectHome<'_>) -> Functions {
        let settings = home.project.settings().current();
        let mut cache = self.cache();
        let is_current = |cached: &Arc<Settings>| Arc::ptr_eq(cached, &settings);
        if !cache.settings.as_ref().is_some_and(is_current) {
            if cache.settings.is_none() {
                cache.fingerprints = self.scan(&settings);
            }
            self.rebuild(&mut cache, settings, home);
        }
        cache.functions.clone()
    }

    /// The state of the folder now, for [`FolderFunctions::reload`].
    pub(crate) fn snapshot(&self) -> FolderSnapshot {
        let settings = self.cache().settings.clone();
        FolderSnapshot(match settings {
            Some(settings) => self.scan(&settings),
            None => scan(&self.functions_folder()),
        })
    }

    /// The functions folder, and what the settings name outside of it.
    fn scan(&self, settings: &Settings) -> Fingerprints {
        let functions = self.functions_folder();
        let mut fingerprints = scan(&functions);
        let shared = [plinth_functions::ENV_FILE, plinth_functions::IMPORT_MAP]
            .map(|key| self.configured_path(settings, key));
        let slugs = settings.members(keys::FUNCTIONS).into_iter();
        let own = slugs.flat_map(|slug| {
            [keys::ENTRYPOINT, keys::IMPORT_MAP]
                .map(|key| self.configured_path(settings, key.of(slug)))
        });
        let configured = shared.into_iter().chain(own).flatten();
        for path in configured.filter(|path| !path.starts_with(&functions)) {
            // No function has a path as its name.
            let key = path.to_string_lossy().into_owned();
            fingerprints.insert(key, fingerprint(&path));
        }
        fingerprints
    }

    /// A path that the settings name.
    fn configured_path<'a>(
        &self,
        settings: &Settings,
        key: impl Into<SettingKey<'a, Option<PathBuf>>>,
    ) -> Option<PathBuf> {
        let path = settings.get(key.into())?;
        Some(normalize(&self.folder.join(path)))
    }

    /// Whether the folder differs from the last snapshot that was loaded.
    pub(crate) fn has_changed(&self, snapshot: &FolderSnapshot) -> bool {
        self.cache().fingerprints != snapshot.0
    }

    pub(crate) fn reload(&self, snapshot: FolderSnapshot, home: &ProjectHome<'_>) -> Functions {
        let settings = home.project.settings().current();
        let mut cache = self.cache();
        cache.fingerprints = snapshot.0;
        self.rebuild(&mut cache, settings, home);
        cache.functions.clone()
    }

    fn rebuild(&self, cache: &mut Cache, settings: Arc<Settings>, home: &ProjectHome<'_>) {
        let shared = self.shared_variables(&settings);
        let mut functions = BTreeMap::new();
        let mut revisions = BTreeMap::new();
        for slug in self.slugs(&settings, &cache.fingerprints) {
            let Some(configured) = ConfiguredFunction::read(self, &slug, &settings) else {
                continue;
            };
            let revision = configured.revision(&cache.fingerprints, &shared);
            let same = cache.functions.get(&slug);
            let same = same.filter(|_| cache.revisions.get(&slug) == Some(&revision));
            let function = match same {
                Some(same) => same.clone(),
                None => {
                    let revision = revision.to_string();
                    Arc::new(configured.function(self, slug.clone(), revision, &shared, home))
                }
            };
            functions.insert(slug.clone(), function);
            revisions.insert(slug, revision);
        }
        cache.settings = Some(settings);
        cache.functions = Arc::new(functions);
        cache.revisions = revisions;
    }

    /// Names of folders with an entrypoint, and those in the settings.
    fn slugs(&self, settings: &Settings, fingerprints: &Fingerprints) -> BTreeSet<String> {
        let configured = settings
            .members(keys::FUNCTIONS)
            .into_iter()
            .map(str::to_owned);
        let in_folder = fingerprints.keys().cloned();
        configured
            .chain(in_folder)
            .filter(|name| is_valid_slug(name))
            .collect()
    }

    /// The `.env` that all functions share.
    fn shared_variables(&self, settings: &Settings) -> Vec<(String, String)> {
        let configured = self.configured_path(settings, plinth_functions::ENV_FILE);
        let path = configured
            .clone()
            .unwrap_or_else(|| self.functions_folder().join(".env"));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                if configured.is_some() {
                    tracing::warn!(
                        "cannot read the environment file {}: {error}; functions get no variables from it",
                        path.display()
                    );
                }
                return Vec::new();
            }
        };
        match plinth_settings::parse_dotenv(&text) {
            Ok(variables) => variables
                .into_iter()
                .filter(|(name, _)| is_permitted_name(name))
                .collect(),
            Err(line) => {
                let path = configured.unwrap_or_else(|| "supabase/functions/.env".into());
                tracing::warn!(
                    "environment file {}: line {line} is not an assignment; the file is ignored",
                    path.display()
                );
                Vec::new()
            }
        }
    }
}

/// Whether users may set the variable. Those of the platform are reserved.
pub(super) fn is_permitted_name(name: &str) -> bool {
    let is_reserved = name.starts_with("SUPABASE_");
    if is_reserved {
        tracing::warn!("Env name cannot start with SUPABASE_, skipping: {name}");
    }
    !is_reserved
}

/// The state of the folder at some time.
#[derive(PartialEq, Eq)]
pub(crate) struct FolderSnapshot(Fingerprints);

/// One function, as settings and files describe it.
struct ConfiguredFunction {
    entrypoint: PathBuf,
    import_map: Option<PathBuf>,
    verify_jwt: bool,
    variables: Vec<(String, String)>,
    /// Static files outside of the functions folder.
    static_files: Vec<PathBuf>,
    /// The folder whose changes concern this function alone.
    own_folder: String,
}

impl ConfiguredFunction {
    fn read(folder: &FolderFunctions, slug: &str, settings: &Settings) -> Option<Self> {
        if !settings.get(keys::ENABLED.of(slug)) {
            return None;
        }
        let shared_import_map = folder.configured_path(settings, plinth_functions::IMPORT_MAP);
        let functions = folder.functions_folder();
        let default = || functions.join(slug).join("index.ts");
        let entrypoint = folder
            .configured_path(settings, keys::ENTRYPOINT.of(slug))
            .unwrap_or_else(default);
        let is_configured = settings.members(keys::FUNCTIONS).contains(&slug);
        if !entrypoint.is_file() && !is_configured {
            return None;
        }
        let inside = entrypoint.strip_prefix(&functions).ok();
        let own_folder = inside.and_then(|path| path.iter().next());
        let variables = settings.get(keys::ENV.of(slug)).iter();
        let patterns = settings.get(keys::STATIC_FILES.of(slug)).iter();
        let files = patterns.flat_map(|pattern| files_matching(&folder.folder, pattern));
        let files = files.map(|path| normalize(&path));
        let outside: Vec<_> = files.filter(|path| !path.starts_with(&functions)).collect();
        let exposed = |(name, value): (&String, &Secret)| (name.clone(), value.expose().to_owned());
        Some(Self {
            import_map: shared_import_map
                .or_else(|| folder.configured_path(settings, keys::IMPORT_MAP.of(slug))),
            verify_jwt: settings.get(plinth_functions::VERIFY_JWT)
                && settings.get(keys::VERIFY_JWT.of(slug)),
            variables: variables
                .filter(|(name, _)| is_permitted_name(name))
                .map(exposed)
                .collect(),
            static_files: outside,
            own_folder: own_folder.map_or_else(
                || slug.to_owned(),
                |name| name.to_string_lossy().into_owned(),
            ),
            entrypoint,
        })
    }

    fn revision(&self, fingerprints: &Fingerprints, shared: &[(String, String)]) -> u64 {
        let mut hasher = DefaultHasher::new();
        let shared_files = fingerprints.get("");
        (shared_files, fingerprints.get(&self.own_folder)).hash(&mut hasher);
        (&self.entrypoint, &self.import_map, self.verify_jwt).hash(&mut hasher);
        (&self.variables, &self.static_files, shared).hash(&mut hasher);
        // They may be outside of the folder.
        let import_map = self.import_map.as_deref().map(fingerprint);
        (fingerprint(&self.entrypoint), import_map).hash(&mut hasher);
        hasher.finish()
    }

    fn function(
        self,
        folder: &FolderFunctions,
        slug: String,
        revision: String,
        shared: &[(String, String)],
        home: &ProjectHome<'_>,
    ) -> Function {
        let root = folder.functions_folder();
        let account = home.account;
        let account =
            account.filter(|_| Account::can_read(&root) && Account::can_read(&self.entrypoint));
        let is_missing = !self.entrypoint.is_file();
        let static_files = readable_static_files(&slug, self.static_files, account);
        Function {
            code: Code {
                work_dir: home.path.join("folder").join(&slug),
                deno_dir: deno_dir(&home.path, account),
                root,
                static_files,
                entrypoint: self.entrypoint,
                import_map: self.import_map,
                account,
                revision,
                // The developer who starts Plinth here can read all of it anyway.
                is_confined: false,
                display_root: "supabase/functions/",
            },
            origin: Origin::Folder,
            verify_jwt: self.verify_jwt,
            variables: shared
                .iter()
                .cloned()
                .chain(self.variables)
                .map(|(name, value)| (name, Secret::new(value)))
                .collect(),
            is_prepared: tokio::sync::Mutex::new(false),
            metrics: FunctionMetrics::new(home.project.reference(), &slug),
            log_rate: Arc::default(),
            needs_own_process: false.into(),
            is_missing,
            slug,
        }
    }
}

/// Static files that the function's user may read, as many as fit into a command line.
fn readable_static_files(
    slug: &str,
    files: Vec<PathBuf>,
    account: Option<Account>,
) -> Vec<PathBuf> {
    let mut bytes_left = MAX_STATIC_PATH_BYTES;
    let fits = |path: &PathBuf| {
        let length = path.as_os_str().len() + 1;
        let is_readable = account.is_none() || Account::can_read(path);
        let fits = is_readable && length <= bytes_left;
        if fits {
            bytes_left -= length;
        } else {
            tracing::warn!(
                "function {slug} cannot read its static file {}: {}",
                path.display(),
                if is_readable {
                    "too many files outside of supabase/functions"
                } else {
                    "it is not readable by all users"
                }
            );
        }
        fits
    };
    files.into_iter().filter(fits).collect()
}

pub(super) fn deno_dir(home: &Path, account: Option<Account>) -> PathBuf {
    home.join(deno_dir_name(account))
}

/// The path without `.` and `..`.
fn normalize(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = out.pop(),
            other => out.push(other),
        }
    }
    out
}
