//! What of the folder belongs to a function: its module, everything that it imports from the
//! folder, its import map and its static files. Paths are told relative to the folder's root, as
//! the official CLI does.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use plinth_settings::{Settings, Source, files_matching, join_path};

use super::{import_map::ImportMap, specifiers};
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::plain,
};

/// Import maps beside the module, the first that is there.
const MAPS: [&str; 3] = ["deno.json", "deno.jsonc", "import_map.json"];
/// Files beside the module that say where packages come from.
const COMPANIONS: [&str; 3] = ["package.json", ".npmrc", "deno.lock"];
/// What may import something.
const MODULES: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];

/// A function of the folder, ready to be sent.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) entrypoint: String,
    pub(super) import_map: Option<String>,
    pub(super) static_patterns: Vec<String>,
    /// `None` leaves it as it is on the server.
    pub(super) verify_jwt: Option<bool>,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// What could not be found, for people.
    pub(super) warnings: Vec<String>,
}

/// The names of all functions that the folder has or config.toml names.
pub(super) fn names(root: &Path, settings: &Settings) -> Vec<String> {
    let entries = fs::read_dir(root.join("supabase/functions"));
    let entries = entries.into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().join("index.ts").is_file());
    let folders = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let configured = settings.entries("functions").into_iter().map(str::to_owned);
    let names: BTreeSet<String> = folders.chain(configured).collect();
    let is_name = |name: &String| super::check_name(name).is_ok();
    names.into_iter().filter(is_name).collect()
}

/// Whether it is to be deployed.
pub(super) fn is_enabled(settings: &Settings, name: &str) -> bool {
    settings.bool(&join_path(["functions", name, "enabled"]))
}

/// The module that a function begins with, whether it is there or not.
pub(super) fn entrypoint(root: &Path, settings: &Settings, name: &str) -> PathBuf {
    let named = settings.opt_path(&join_path(["functions", name, "entrypoint"]));
    let supabase = root.join("supabase");
    normal(&match named {
        Some(path) => supabase.join(path),
        None => supabase.join(format!("functions/{name}/index.ts")),
    })
}

/// Gathers one function. `import_map` goes before what the settings say.
pub(super) fn gather(
    root: &Path,
    settings: &Settings,
    name: &str,
    import_map: Option<&Path>,
) -> Outcome<Sources> {
    let supabase = root.join("supabase");
    let key = |key| join_path(["functions", name, key]);
    let entrypoint = entrypoint(root, settings, name);
    let map = match import_map {
        Some(given) => Some(std::path::absolute(given)?),
        None => settings
            .opt_path(&key("import_map"))
            .map(|path| supabase.join(path))
            .or_else(|| nearest_map(&supabase, &entrypoint)),
    };

    let mut gathering = Gathering::new(root)?;
    let (map, map_path) = match map {
        Some(path) => gathering.import_map(&normal(&path))?,
        None => (ImportMap::default(), None),
    };
    let told = gathering.required(&entrypoint)?;
    gathering.follow_imports(&entrypoint, &map);
    for companion in COMPANIONS {
        let beside = entrypoint.with_file_name(companion);
        if beside.is_file() {
            gathering.add(&beside);
        }
    }
    let patterns = settings.list(&key("static_files"));
    for pattern in patterns {
        gathering.static_files(&supabase, pattern);
    }
    let verify_jwt = key("verify_jwt");
    let says_verify = settings.source(&verify_jwt) != Source::Default;
    Ok(Sources {
        entrypoint: told,
        import_map: map_path,
        static_patterns: patterns
            .iter()
            .map(|pattern| below_supabase(pattern))
            .collect(),
        verify_jwt: says_verify.then(|| settings.bool(&verify_jwt)),
        files: gathering.files,
        warnings: gathering.warnings,
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
    slashed(&normal(&Path::new("supabase").join(pattern)))
}

struct Gathering {
    /// Without links, so that it can be told what lies outside.
    root: PathBuf,
    given_root: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    warnings: Vec<String>,
}

impl Gathering {
    fn new(root: &Path) -> Outcome<Self> {
        Ok(Self {
            root: fs::canonicalize(root)?,
            given_root: normal(root),
            files: BTreeMap::new(),
            warnings: Vec::new(),
        })
    }

    /// Adds a file without which there is no function; its path as the server learns it.
    fn required(&mut self, path: &Path) -> Outcome<String> {
        match self.add(path) {
            Some(told) => Ok(told),
            None => {
                let why = self.warnings.pop().unwrap_or_default();
                Err(Failure::new(Kind::Failure, why))
            }
        }
    }

    /// Adds a file; says why not, if it cannot be had.
    fn add(&mut self, path: &Path) -> Option<String> {
        let told = self.shown(path);
        if self.files.contains_key(&told) {
            return Some(told);
        }
        let is_inside = path.starts_with(&self.given_root)
            && fs::canonicalize(path).is_ok_and(|real| real.starts_with(&self.root));
        if path.exists() && !is_inside {
            self.warnings
                .push(format!("{told} lies outside of the project's folder"));
            return None;
        }
        match fs::read(path) {
            Ok(content) => {
                self.files.insert(told.clone(), content);
                Some(told)
            }
            Err(error) => {
                self.warnings
                    .push(format!("{told} cannot be read: {}", plain(&error)));
                None
            }
        }
    }

    fn import_map(&mut self, path: &Path) -> Outcome<(ImportMap, Option<String>)> {
        let told = self.required(path)?;
        let map = ImportMap::read(path)?;
        match map.other.as_deref().map(normal) {
            Some(other) => {
                self.required(&other)?;
                Ok((ImportMap::read(&other)?, Some(told)))
            }
            None => Ok((map, Some(told))),
        }
    }

    fn follow_imports(&mut self, entrypoint: &Path, map: &ImportMap) {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![entrypoint.to_owned()];
        while let Some(module) = waiting.pop() {
            if !seen.insert(module.clone()) {
                continue;
            }
            let Some(told) = self.add(&module) else {
                continue;
            };
            if !is_module(&module) {
                continue;
            }
            let text = String::from_utf8_lossy(&self.files[&told]).into_owned();
            let imported = specifiers::find(&text);
            let imported = imported
                .iter()
                .filter_map(|name| map.resolve(name, &module));
            waiting.extend(imported.map(|path| normal(&path)));
        }
    }

    fn static_files(&mut self, supabase: &Path, pattern: &str) {
        let found = files_matching(supabase, pattern);
        if found.is_empty() {
            self.warnings
                .push(format!("no file is named by the pattern {pattern}"));
        }
        for path in found {
            self.add(&normal(&path));
        }
    }

    fn shown(&self, path: &Path) -> String {
        slashed(path.strip_prefix(&self.given_root).unwrap_or(path))
    }
}

fn is_module(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| MODULES.contains(&extension))
}

/// The same path without `.` and `..`, as far as names alone can tell.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

fn slashed(path: &Path) -> String {
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    let text = parts.collect::<Vec<_>>().join("/");
    // The root itself is one of the parts.
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

        let sources = gather(folder.path(), &settings, "hello", None).expect("sources");

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
    fn settings_say_where_things_are() {
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

        let sources = gather(folder.path(), &settings, "hello", None).expect("sources");

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
    fn what_is_missing_or_outside_is_told() {
        let outside = folder(&[("secret.ts", "")]);
        let link = outside.path().join("secret.ts");
        let folder = folder(&[(
            "supabase/functions/hello/index.ts",
            "import './gone.ts'; import './link.ts'; import '../../../../../../../etc/hostname'",
        )]);
        let here = folder.path().join("supabase/functions/hello/link.ts");
        std::os::unix::fs::symlink(link, here).expect("a link");
        let settings = settings(folder.path());

        let sources = gather(folder.path(), &settings, "hello", None).expect("sources");
        let missing = gather(folder.path(), &settings, "missing", None);

        assert_eq!(paths(&sources), ["supabase/functions/hello/index.ts"]);
        assert_eq!(sources.warnings.len(), 3, "{:?}", sources.warnings);
        assert!(missing.is_err());
    }
}
