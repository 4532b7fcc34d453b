//! The functions of the folder that Plinth was started in (functions contract §6, §11).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use plinth_project::Project;
use plinth_settings::{Secret, Settings, files_matching, join_path};

use super::{
    Code, Function, Origin, is_name,
    scan::{Looks, look_of, scan},
};
use crate::{deno::Account, numbers::Numbers};

/// What is said of all functions at once, as on the command line.
const ENV_FILE: &str = "plinth.functions.env_file";
const IMPORT_MAP: &str = "plinth.functions.import_map";
const VERIFY_JWT: &str = "plinth.functions.verify_jwt";

/// Bytes of all paths of static files elsewhere; a single argument has at most twice as many.
const MOST_PATHS: usize = 64 << 10;

/// Functions by name.
pub(crate) type Functions = Arc<BTreeMap<String, Arc<Function>>>;

/// What lies in `supabase/functions`, read again when it changed.
pub(crate) struct FolderFunctions {
    /// `supabase`: paths in the settings are relative to it.
    folder: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    made_from: Option<Arc<Settings>>,
    looks: Looks,
    /// With what each was made from, so that one that did not change stays the same.
    revisions: BTreeMap<String, u64>,
    functions: Functions,
}

/// Where a project's functions are kept ready.
pub(crate) struct Place<'a> {
    pub(crate) home: &'a Path,
    pub(crate) project: &'a Project,
}

impl FolderFunctions {
    /// Of a folder with `supabase` in it.
    pub(crate) fn new(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self {
            folder: root.join("supabase"),
            known: Mutex::default(),
        }
    }

    fn functions_folder(&self) -> PathBuf {
        self.folder.join("functions")
    }

    /// As they were when the folder was last looked at, with the settings of now.
    pub(crate) fn current(&self, place: &Place<'_>) -> Functions {
        let settings = place.project.settings().current();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = |made_from: &Arc<Settings>| Arc::ptr_eq(made_from, &settings);
        if !known.made_from.as_ref().is_some_and(is_current) {
            if known.made_from.is_none() {
                known.looks = self.scan(&settings);
            }
            self.rebuild(&mut known, settings, place);
        }
        known.functions.clone()
    }

    /// What the folder looks like now, for [`FolderFunctions::take_over`].
    pub(crate) fn look(&self) -> FolderLooks {
        let made_from = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.made_from.clone()
        };
        FolderLooks(match made_from {
            Some(settings) => self.scan(&settings),
            None => scan(&self.functions_folder()),
        })
    }

    /// The functions folder, and what the settings name outside of it.
    fn scan(&self, settings: &Settings) -> Looks {
        let functions = self.functions_folder();
        let mut looks = scan(&functions);
        let of_all = [ENV_FILE, IMPORT_MAP].map(|key| self.named(settings, key));
        let of_each = settings.entries("functions").into_iter().flat_map(|slug| {
            ["entrypoint", "import_map"]
                .map(|key| self.named(settings, &join_path(["functions", slug, key])))
        });
        let named = of_all.into_iter().chain(of_each).flatten();
        for path in named.filter(|path| !path.starts_with(&functions)) {
            // A path is nobody's name.
            looks.insert(path.to_string_lossy().into_owned(), look_of(&path));
        }
        looks
    }

    /// A file that the settings name.
    fn named(&self, settings: &Settings, key: &str) -> Option<PathBuf> {
        let path = settings.opt_path(key)?;
        Some(clean(&self.folder.join(path)))
    }

    /// Whether it looked otherwise when it was last taken over.
    pub(crate) fn differs(&self, looks: &FolderLooks) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.looks != looks.0
    }

    pub(crate) fn take_over(&self, looks: FolderLooks, place: &Place<'_>) -> Functions {
        let settings = place.project.settings().current();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.looks = looks.0;
        self.rebuild(&mut known, settings, place);
        known.functions.clone()
    }

    fn rebuild(&self, known: &mut Known, settings: Arc<Settings>, place: &Place<'_>) {
        let shared = self.shared_variables(&settings);
        let mut functions = BTreeMap::new();
        let mut revisions = BTreeMap::new();
        for slug in self.slugs(&settings, &known.looks) {
            let Some(found) = Found::read(self, &slug, &settings) else {
                continue;
            };
            let revision = found.revision(&known.looks, &shared);
            let same = known.functions.get(&slug);
            let same = same.filter(|_| known.revisions.get(&slug) == Some(&revision));
            let function = match same {
                Some(same) => same.clone(),
                None => {
                    let revision = revision.to_string();
                    Arc::new(found.function(self, slug.clone(), revision, &shared, place))
                }
            };
            functions.insert(slug.clone(), function);
            revisions.insert(slug, revision);
        }
        known.made_from = Some(settings);
        known.functions = Arc::new(functions);
        known.revisions = revisions;
    }

    /// Names of folders with an entrypoint, and those in the settings.
    fn slugs(&self, settings: &Settings, looks: &Looks) -> BTreeSet<String> {
        let configured = settings.entries("functions").into_iter().map(str::to_owned);
        let in_folder = looks.keys().cloned();
        configured
            .chain(in_folder)
            .filter(|name| is_name(name))
            .collect()
    }

    /// The `.env` that all functions share.
    fn shared_variables(&self, settings: &Settings) -> Vec<(String, String)> {
        let named = self.named(settings, ENV_FILE);
        let path = named
            .clone()
            .unwrap_or_else(|| self.functions_folder().join(".env"));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                if named.is_some() {
                    tracing::warn!("{}: {error}; functions get no variables", path.display());
                }
                return Vec::new();
            }
        };
        match plinth_settings::parse_dotenv(&text) {
            Ok(variables) => variables
                .into_iter()
                .filter(|(name, _)| may_be_set(name))
                .collect(),
            Err(line) => {
                let path = named.unwrap_or_else(|| "supabase/functions/.env".into());
                tracing::warn!(
                    "{}: line {line} is no assignment; nothing of it is used",
                    path.display()
                );
                Vec::new()
            }
        }
    }
}

/// Functions must not be deceived about where they are.
pub(super) fn may_be_set(name: &str) -> bool {
    let is_reserved = name.starts_with("SUPABASE_");
    if is_reserved {
        tracing::warn!("Env name cannot start with SUPABASE_, skipping: {name}");
    }
    !is_reserved
}

/// What a folder looked like.
pub(crate) struct FolderLooks(Looks);

impl PartialEq for FolderLooks {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// One function as settings and files describe it.
struct Found {
    entrypoint: PathBuf,
    named_imports: Option<PathBuf>,
    verify_jwt: bool,
    variables: Vec<(String, String)>,
    /// Those outside of the functions folder.
    static_files: Vec<PathBuf>,
    /// The folder whose changes are its own.
    own_folder: String,
}

impl Found {
    fn read(folder: &FolderFunctions, slug: &str, settings: &Settings) -> Option<Self> {
        let key = |name| join_path(["functions", slug, name]);
        if !settings.bool(&key("enabled")) {
            return None;
        }
        let named = |name| folder.named(settings, &key(name));
        let of_all = folder.named(settings, IMPORT_MAP);
        let functions = folder.functions_folder();
        let usual = || functions.join(slug).join("index.ts");
        let entrypoint = named("entrypoint").unwrap_or_else(usual);
        let is_configured = settings.entries("functions").contains(&slug);
        if !entrypoint.is_file() && !is_configured {
            return None;
        }
        let inside = entrypoint.strip_prefix(&functions).ok();
        let own_folder = inside.and_then(|path| path.iter().next());
        let variables = settings.secrets(&key("env")).iter();
        let patterns = settings.list(&key("static_files")).iter();
        let files = patterns.flat_map(|pattern| files_matching(&folder.folder, pattern));
        let files = files.map(|path| clean(&path));
        let elsewhere: Vec<_> = files.filter(|path| !path.starts_with(&functions)).collect();
        let exposed = |(name, value): (&String, &Secret)| (name.clone(), value.expose().to_owned());
        Some(Self {
            named_imports: of_all.or_else(|| named("import_map")),
            verify_jwt: settings.bool(VERIFY_JWT) && settings.bool(&key("verify_jwt")),
            variables: variables
                .filter(|(name, _)| may_be_set(name))
                .map(exposed)
                .collect(),
            static_files: elsewhere,
            own_folder: own_folder.map_or_else(
                || slug.to_owned(),
                |name| name.to_string_lossy().into_owned(),
            ),
            entrypoint,
        })
    }

    fn revision(&self, looks: &Looks, shared: &[(String, String)]) -> u64 {
        let mut hasher = DefaultHasher::new();
        (looks.get(""), looks.get(&self.own_folder)).hash(&mut hasher);
        (&self.entrypoint, &self.named_imports, self.verify_jwt).hash(&mut hasher);
        (&self.variables, &self.static_files, shared).hash(&mut hasher);
        // They need not lie in the folder.
        let named = self.named_imports.as_deref().map(look_of);
        (look_of(&self.entrypoint), named).hash(&mut hasher);
        hasher.finish()
    }

    fn function(
        self,
        folder: &FolderFunctions,
        slug: String,
        revision: String,
        shared: &[(String, String)],
        place: &Place<'_>,
    ) -> Function {
        let root = folder.functions_folder();
        let account = Account::of(place.project.reference());
        let account =
            account.filter(|_| Account::can_reach(&root) && Account::can_reach(&self.entrypoint));
        let is_missing = !self.entrypoint.is_file();
        let static_files = fitting(&slug, self.static_files, account);
        Function {
            code: Code {
                place: place.home.join("folder").join(&slug),
                deno_dir: deno_dir(place.home, account),
                root,
                static_files,
                entrypoint: self.entrypoint,
                named_imports: self.named_imports,
                account,
                revision,
                // Whoever starts Plinth in a folder may read everything anyway.
                is_confined: false,
                shown_root: "supabase/functions/",
            },
            origin: Origin::Folder,
            verify_jwt: self.verify_jwt,
            variables: shared.iter().cloned().chain(self.variables).collect(),
            is_prepared: tokio::sync::Mutex::new(false),
            numbers: Numbers::of(place.project.reference(), &slug),
            printed: Arc::default(),
            needs_own_process: false.into(),
            is_missing,
            slug,
        }
    }
}

/// Static files that the function's user may read, as many as fit into a command line.
fn fitting(slug: &str, files: Vec<PathBuf>, account: Option<Account>) -> Vec<PathBuf> {
    let mut left = MOST_PATHS;
    let fits = |path: &PathBuf| {
        let length = path.as_os_str().len() + 1;
        let is_readable = account.is_none() || Account::can_reach(path);
        let fits = is_readable && length <= left;
        match fits {
            true => left -= length,
            false => tracing::warn!(
                "{slug} cannot read its static file {}: {}",
                path.display(),
                if is_readable {
                    "there are too many outside of supabase/functions"
                } else {
                    "not everybody may"
                }
            ),
        }
        fits
    };
    files.into_iter().filter(fits).collect()
}

/// Packages that one user fetched cannot be added to by another.
pub(super) fn deno_dir(home: &Path, account: Option<Account>) -> PathBuf {
    match account {
        Some(Account(number)) => home.join(format!("deno-{number}")),
        None => home.join("deno"),
    }
}

/// The path without `.` and `..`, which stand in the middle of joined ones.
fn clean(path: &Path) -> PathBuf {
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
