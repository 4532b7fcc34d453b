//! Collects the files of a function: its module, everything that it imports from the folder, its
//! import map and its static files. Paths are relative to the folder's root, as in the official CLI.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use plinth_settings::{Settings, Source, files_matching, keys::functions as keys};

use super::{import_map::ImportMap, specifiers};
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::plain,
};

/// Import maps beside the module; the first existing one is used.
const MAPS: [&str; 3] = ["deno.json", "deno.jsonc", "import_map.json"];
/// Files beside the module that configure packages.
const COMPANIONS: [&str; 3] = ["package.json", ".npmrc", "deno.lock"];
/// Extensions of files whose imports are followed.
const MODULES: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];

/// The collected files of a function.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) entrypoint: String,
    pub(super) import_map: Option<String>,
    pub(super) static_patterns: Vec<String>,
    /// `None` keeps the server's value.
    pub(super) verify_jwt: Option<bool>,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Files that could not be read.
    pub(super) warnings: Vec<String>,
}

/// The names of all functions in the folder or in config.toml.
pub(super) fn names(root: &Path, settings: &Settings) -> Vec<String> {
    let entries = fs::read_dir(root.join("supabase/functions"));
    let entries = entries.into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().join("index.ts").is_file());
    let folders = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let configured = settings
        .members(keys::FUNCTIONS)
        .into_iter()
        .map(str::to_owned);
    let names: BTreeSet<String> = folders.chain(configured).collect();
    let is_name = |name: &String| super::check_name(name).is_ok();
    names.into_iter().filter(is_name).collect()
}

/// Whether it is to be deployed.
pub(super) fn is_enabled(settings: &Settings, name: &str) -> bool {
    settings.get(keys::ENABLED.of(name))
}

/// The path of a function's module, which need not exist.
pub(super) fn entrypoint(root: &Path, settings: &Settings, name: &str) -> PathBuf {
    let named = settings.get(keys::ENTRYPOINT.of(name));
    let supabase = root.join("supabase");
    normalized(&match named {
        Some(path) => supabase.join(path),
        None => supabase.join(format!("functions/{name}/index.ts")),
    })
}

/// Collects one function. `import_map` overrides the settings.
pub(super) fn collect(
    root: &Path,
    settings: &Settings,
    name: &str,
    import_map: Option<&Path>,
) -> Outcome<Sources> {
    let supabase = root.join("supabase");
    let entrypoint = entrypoint(root, settings, name);
    let map = match import_map {
        Some(path) => Some(std::path::absolute(path)?),
        None => settings
            .get(keys::IMPORT_MAP.of(name))
            .map(|path| supabase.join(path))
            .or_else(|| nearest_map(&supabase, &entrypoint)),
    };

    let mut collector = Collector::new(root)?;
    let (map, map_path) = match map {
        Some(path) => collector.add_import_map(&normalized(&path))?,
        None => (ImportMap::default(), None),
    };
    let entrypoint_path = collector.add_required(&entrypoint)?;
    collector.follow_imports(&entrypoint, &map);
    for companion in COMPANIONS {
        let beside = entrypoint.with_file_name(companion);
        if beside.is_file() {
            collector.add(&beside);
        }
    }
    let patterns = settings.get(keys::STATIC_FILES.of(name));
    for pattern in patterns {
        collector.add_static_files(&supabase, pattern);
    }
    let verify_jwt = keys::VERIFY_JWT.of(name);
    let is_set = settings.source_of(verify_jwt) != Source::Default;
    Ok(Sources {
        entrypoint: entrypoint_path,
        import_map: map_path,
        static_patterns: patterns
            .iter()
            .map(|pattern| below_supabase(pattern))
            .collect(),
        verify_jwt: is_set.then(|| settings.get(verify_jwt)),
        files: collector.files,
        warnings: collector.warnings,
    })
}

fn nearest_map(supabase: &Path, entrypoint: &Path) -> Option<PathBuf> {
    let beside = MAPS.map(|name| entrypoint.with_file_name(name));
    let shared = supabase.join("functions/import_map.json");
    beside
        .into_iter()
        .chain([shared])
        .find(|path| path.is_file())
}

/// Patterns are written relative to `supabase/`.
fn below_supabase(pattern: &str) -> String {
    with_slashes(&normalized(&Path::new("supabase").join(pattern)))
}

struct Collector {
    /// Canonical, to recognise symbolic links that lead out of it.
    canonical_root: PathBuf,
    root: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    warnings: Vec<String>,
}

impl Collector {
    fn new(root: &Path) -> Outcome<Self> {
        Ok(Self {
            canonical_root: fs::canonicalize(root)?,
            root: normalized(root),
            files: BTreeMap::new(),
            warnings: Vec::new(),
        })
    }

    /// Adds a file that must exist; returns its relative path.
    fn add_required(&mut self, path: &Path) -> Outcome<String> {
        match self.add(path) {
            Some(relative) => Ok(relative),
            None => {
                let why = self.warnings.pop().unwrap_or_default();
                Err(Failure::new(Kind::Failure, why))
            }
        }
    }

    /// Adds a file and returns its relative path, or adds a warning.
    fn add(&mut self, path: &Path) -> Option<String> {
        let relative = self.relative(path);
        if self.files.contains_key(&relative) {
            return Some(relative);
        }
        let is_inside = path.starts_with(&self.root)
            && fs::canonicalize(path).is_ok_and(|real| real.starts_with(&self.canonical_root));
        if path.exists() && !is_inside {
            self.warnings
                .push(format!("{relative} is outside of the project's folder"));
            return None;
        }
        match fs::read(path) {
            Ok(content) => {
                self.files.insert(relative.clone(), content);
                Some(relative)
            }
            Err(error) => {
                self.warnings
                    .push(format!("{relative} cannot be read: {}", plain(&error)));
                None
            }
        }
    }

    fn add_import_map(&mut self, path: &Path) -> Outcome<(ImportMap, Option<String>)> {
        let relative = self.add_required(path)?;
        let map = ImportMap::read(path)?;
        match map.other.as_deref().map(normalized) {
            Some(other) => {
                self.add_required(&other)?;
                Ok((ImportMap::read(&other)?, Some(relative)))
            }
            None => Ok((map, Some(relative))),
        }
    }

    fn follow_imports(&mut self, entrypoint: &Path, map: &ImportMap) {
        let mut seen = BTreeSet::new();
        let mut queue = vec![entrypoint.to_owned()];
        while let Some(module) = queue.pop() {
            if !seen.insert(module.clone()) {
                continue;
            }
            let Some(relative) = self.add(&module) else {
                continue;
            };
            if !is_module(&module) {
                continue;
            }
            let text = String::from_utf8_lossy(&self.files[&relative]).into_owned();
            let imported = specifiers::find(&text);
            let imported = imported
                .iter()
                .filter_map(|name| map.resolve(name, &module));
            queue.extend(imported.map(|path| normalized(&path)));
        }
    }

    fn add_static_files(&mut self, supabase: &Path, pattern: &str) {
        let found = files_matching(supabase, pattern);
        if found.is_empty() {
            self.warnings
                .push(format!("no file matches the pattern {pattern}"));
        }
        for path in found {
            self.add(&normalized(&path));
        }
    }

    fn relative(&self, path: &Path) -> String {
        with_slashes(path.strip_prefix(&self.root).unwrap_or(path))
    }
}

fn is_module(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| MODULES.contains(&extension))
}

/// The path without `.` and `..`, without looking at the file system.
pub(super) fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normalized.file_name().is_some() => {
                normalized.pop();
            }
            part => normalized.push(part),
        }
    }
    normalized
}

fn with_slashes(path: &Path) -> String {
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    let text = parts.collect::<Vec<_>>().join("/");
    // The root directory is a component too.
    text.replacen("//", "/", 1)
}

#[cfg(test)]
mod tests {
    use plinth_settings::Loader;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        }
        folder
    }

    fn settings(folder: &Path) -> Settings {
        let loader = Loader::new().folder(folder);
        loader.load().expect("settings").settings
    }

    fn paths(sources: &Sources) -> Vec<&str> {
        sources.files.keys().map(String::as_str).collect()
    }

    #[test]
    fn imports_are_followed_out_of_the_functions_folder() {
        let folder = folder(&[
            (
                "supabase/functions/hello/index.ts",
                "import { cors } from '../_shared/cors.ts'; import x from 'tools/x.ts'; import 'npm:y';",
            ),
            (
                "supabase/functions/hello/deno.json",
                r#"{"imports":{"tools/":"../../tools/"}}"#,
            ),
            ("supabase/functions/hello/unused.ts", ""),
            ("supabase/functions/hello/.env", "SECRET=1"),
            (
                "supabase/functions/_shared/cors.ts",
                "export * from './more.ts'; import './cors.ts'",
            ),
            ("supabase/functions/_shared/more.ts", ""),
            (
                "supabase/tools/x.ts",
                "import data from './data.json' with { type: 'json' }",
            ),
            ("supabase/tools/data.json", "import './never.ts'"),
        ]);
        let settings = settings(folder.path());

        let sources = collect(folder.path(), &settings, "hello", None).expect("sources");

        assert_eq!(sources.entrypoint, "supabase/functions/hello/index.ts");
        let map = sources.import_map.as_deref();
        assert_eq!(map, Some("supabase/functions/hello/deno.json"));
        let expected = [
            "supabase/functions/_shared/cors.ts",
            "supabase/functions/_shared/more.ts",
            "supabase/functions/hello/deno.json",
            "supabase/functions/hello/index.ts",
            "supabase/tools/data.json",
            "supabase/tools/x.ts",
        ];
        assert_eq!(paths(&sources), expected);
        assert_eq!(sources.warnings, Vec::<String>::new());
        assert_eq!(sources.verify_jwt, None);
    }

    #[test]
    fn settings_override_default_paths() {
        let folder = folder(&[
            (
                "supabase/config.toml",
                "[functions.hello]\nverify_jwt = false\nentrypoint = './functions/other/main.ts'\n\
                 import_map = './map.json'\nstatic_files = ['./functions/other/*.html']\n\
                 [functions.off]\nenabled = false\n",
            ),
            ("supabase/functions/other/main.ts", ""),
            ("supabase/functions/other/page.html", ""),
            ("supabase/functions/off/index.ts", ""),
            ("supabase/functions/_shared/index.ts", ""),
            ("supabase/map.json", "{}"),
        ]);
        let settings = settings(folder.path());

        let sources = collect(folder.path(), &settings, "hello", None).expect("sources");

        assert_eq!(names(folder.path(), &settings), ["hello", "off"]);
        assert!(!is_enabled(&settings, "off"));
        assert_eq!(sources.entrypoint, "supabase/functions/other/main.ts");
        assert_eq!(sources.import_map.as_deref(), Some("supabase/map.json"));
        assert_eq!(sources.static_patterns, ["supabase/functions/other/*.html"]);
        assert_eq!(sources.verify_jwt, Some(false));
        let expected = [
            "supabase/functions/other/main.ts",
            "supabase/functions/other/page.html",
            "supabase/map.json",
        ];
        assert_eq!(paths(&sources), expected);
    }

    #[test]
    fn missing_and_outside_files_are_warnings() {
        let outside = folder(&[("secret.ts", "")]);
        let link = outside.path().join("secret.ts");
        let folder = folder(&[(
            "supabase/functions/hello/index.ts",
            "import './gone.ts'; import './link.ts'; import '../../../../../../../etc/hostname'",
        )]);
        let here = folder.path().join("supabase/functions/hello/link.ts");
        std::os::unix::fs::symlink(link, here).expect("a link");
        let settings = settings(folder.path());

        let sources = collect(folder.path(), &settings, "hello", None).expect("sources");
        let missing = collect(folder.path(), &settings, "missing", None);

        assert_eq!(paths(&sources), ["supabase/functions/hello/index.ts"]);
        assert_eq!(sources.warnings.len(), 3, "{:?}", sources.warnings);
        assert!(missing.is_err());
    }
}
