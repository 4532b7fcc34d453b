//! A function's code as the runtime needs it.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use url::Url;

use crate::deno::{Account, ImportMap};

/// Sources on the disk, and what belongs to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Code {
    /// Everything that it may read, but for static files elsewhere.
    pub(crate) root: PathBuf,
    pub(crate) static_files: Vec<PathBuf>,
    pub(crate) entrypoint: PathBuf,
    /// The import map that was named for it.
    pub(crate) named_imports: Option<PathBuf>,
    /// What we make of the sources: the import map in force, and the versions that were found.
    pub(crate) place: PathBuf,
    /// Fetched packages, one folder per project: another one's may be private.
    pub(crate) deno_dir: PathBuf,
    /// Whose rights it runs with, if not ours.
    pub(crate) account: Option<Account>,
    /// Changes whenever anything of it does.
    pub(crate) revision: String,
    /// Whether nothing outside of `root` may be imported. The runtime asks for no permission where
    /// it can read in the sources what will be imported.
    pub(crate) is_confined: bool,
    /// How people name `root`.
    pub(crate) shown_root: &'static str,
}

/// No lock file is that long; a device without an end is.
const LONGEST_LOCK: u64 = 8 << 20;

/// Versions and digests of a lock file, without the addresses that it may name: the runtime would
/// fetch packages from there, whoever may reach them.
fn pins(mut lock: Value) -> Value {
    // Older ones have packages of every kind in one member.
    let kept = ["version", "specifiers", "npm", "jsr", "remote", "packages"];
    if let Some(members) = lock.as_object_mut() {
        members.retain(|name, _| kept.contains(&name.as_str()));
    }
    for place in ["/npm", "/packages/npm"] {
        let packages = lock.pointer_mut(place).and_then(Value::as_object_mut);
        for package in packages.into_iter().flat_map(Map::values_mut) {
            if let Some(members) = package.as_object_mut() {
                members.remove("tarball");
            }
        }
    }
    lock
}

/// Longest explanation that goes into an answer.
const LONGEST: usize = 4_000;

impl Code {
    /// Where its imports are named, as its files are now.
    pub(crate) fn imports(&self) -> ImportMap {
        ImportMap::choose(self.named_imports.clone(), &self.entrypoint, &self.root)
    }

    /// Where it begins: the folder of functions, whether it is served from there or was deployed with
    /// the folders above it.
    pub(crate) fn working_folder(&self) -> &Path {
        let folders = self.entrypoint.ancestors().skip(1);
        let inside = folders.take_while(|folder| folder.starts_with(&self.root));
        let of_functions = inside.filter(|folder| folder.ends_with("functions"));
        of_functions.last().unwrap_or(&self.root)
    }

    /// Where npm packages are, which may read their own files.
    pub(crate) fn packages(&self) -> PathBuf {
        self.deno_dir.join("npm")
    }

    /// What web pages may keep: caches.
    pub(crate) fn storage(&self) -> PathBuf {
        self.deno_dir.join("location_data")
    }

    /// Everything of it on the disk.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let Self {
            root,
            static_files,
            entrypoint,
            named_imports,
            place,
            deno_dir,
            ..
        } = self;
        let all = [root, entrypoint, place, deno_dir].into_iter();
        let all = all.chain(static_files).chain(named_imports);
        all.map(PathBuf::as_path)
    }

    pub(crate) fn import_map_file(&self) -> PathBuf {
        self.place.join("import_map.json")
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.place.join("deno.lock")
    }

    /// The one that is being made. Somebody may begin with the one before at this very moment.
    pub(crate) fn coming_lock_file(&self) -> PathBuf {
        self.place.join("coming.lock")
    }

    /// How its imports are found, which is settled when a process starts: another code's process can
    /// run this one where it is the same. Nothing where none but its own can.
    pub(crate) fn resolution(&self) -> Option<u64> {
        let config = match self.imports() {
            ImportMap::Config(config) => Some(config),
            ImportMap::Map(_) | ImportMap::None => None,
            // The runtime looks for it beside the module that it begins with.
            ImportMap::Package(_) => return None,
        };
        let entrypoint = fs::read_to_string(&self.entrypoint).ok()?;
        // Only a module that the runtime itself begins with is a main one, or read unasked.
        let is_elsewhere =
            !self.entrypoint.starts_with(&self.root) || !self.static_files.is_empty();
        if entrypoint.contains("import.meta.main") || is_elsewhere {
            return None;
        }
        let files = [
            Some(self.import_map_file()),
            Some(self.lock_file()),
            Some(self.place.join(".npmrc")),
            config.clone(),
        ];
        let texts = files.map(|file| fs::read(file?).ok());
        let mut hasher = DefaultHasher::new();
        (texts, config).hash(&mut hasher);
        Some(hasher.finish())
    }

    /// The versions that are pinned in a file beside the module, if there is one. The error says what is
    /// wrong with it.
    pub(crate) fn own_lock(&self) -> Result<Option<Value>, String> {
        let own = self.entrypoint.with_file_name("deno.lock");
        let is_ours = !self.is_confined || !own.is_symlink();
        if !own.is_file() || !is_ours {
            return Ok(None);
        }
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", own.display());
        let length = own.metadata().map_or(u64::MAX, |file| file.len());
        if length > LONGEST_LOCK {
            return Err(told(&"too large to be a lock file"));
        }
        let text = fs::read_to_string(&own).map_err(|error| told(&error))?;
        let lock = serde_json::from_str(&text).map_err(|error| told(&error))?;
        Ok(Some(pins(lock)))
    }

    /// Begins with these versions, or with none.
    pub(crate) fn pin(&self, lock: Option<&Value>) -> io::Result<()> {
        _ = fs::remove_file(self.coming_lock_file());
        match lock {
            Some(lock) => fs::write(self.coming_lock_file(), lock.to_string()),
            None => Ok(()),
        }
    }

    /// Puts the file that names other registries to where the runtime looks for it in any case.
    pub(crate) fn take_npmrc_over(&self) -> io::Result<()> {
        let (beside, ours) = (
            self.entrypoint.with_file_name(".npmrc"),
            self.place.join(".npmrc"),
        );
        match fs::copy(beside, &ours) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // There mostly is none.
                _ = fs::remove_file(ours);
                Ok(())
            }
            copied => copied.map(drop),
        }
    }

    /// The map that the code is run with. What was deployed names its own files only.
    pub(crate) fn resolve_imports(&self) -> Result<Value, String> {
        self.imports()
            .resolve(self.is_confined.then_some(&*self.root))
    }

    /// Whether an earlier start has made this very code ready.
    pub(crate) fn was_prepared(&self) -> bool {
        let is = |file: PathBuf, expected: &str| {
            fs::read_to_string(file).is_ok_and(|text| text == expected)
        };
        let map = self.resolve_imports();
        map.is_ok_and(|map| is(self.import_map_file(), &map.to_string()))
            && is(self.prepared_file(), &self.revision)
            && self.deno_dir.is_dir()
    }

    /// It is ready from now on.
    pub(crate) fn note_prepared(&self) -> io::Result<()> {
        fs::write(self.prepared_file(), &self.revision)
    }

    /// It is to be made ready again.
    pub(crate) fn forget_prepared(&self) {
        _ = fs::remove_file(self.prepared_file());
    }

    fn prepared_file(&self) -> PathBuf {
        self.place.join("prepared")
    }

    /// The runtime's words, with paths as people know them.
    pub(crate) fn explain(&self, stderr: &str) -> String {
        let text = stderr.trim();
        let text = text.strip_prefix("error: ").unwrap_or(text);
        let text: String = text.chars().take(LONGEST).collect();
        match text.is_empty() {
            true => "the runtime ended without a word".to_owned(),
            false => self.shorten(&text),
        }
    }

    pub(crate) fn shorten(&self, text: &str) -> String {
        let path = format!("{}/", self.root.display());
        let url = Url::from_directory_path(&self.root).map(String::from);
        let text = match url {
            Ok(url) => text.replace(&url, self.shown_root),
            Err(()) => text.to_owned(),
        };
        text.replace(&path, self.shown_root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_pins_versions_and_names_no_address() {
        let lock = serde_json::json!({
            "version": "5",
            "specifiers": { "npm:ms@2": "2.0.0" },
            "npm": { "ms@2.0.0": { "integrity": "x", "tarball": "http://169.254.169.254/" } },
            "redirects": { "https://a.example/": "http://10.0.0.1/" },
        });

        assert_eq!(
            pins(lock),
            serde_json::json!({
                "version": "5",
                "specifiers": { "npm:ms@2": "2.0.0" },
                "npm": { "ms@2.0.0": { "integrity": "x" } },
            })
        );
        assert_eq!(pins(serde_json::json!([1])), serde_json::json!([1]));
    }

    #[test]
    fn a_function_begins_in_the_folder_of_functions() {
        for (root, entrypoint, expected) in [
            (
                "/a/functions",
                "/a/functions/hello/index.ts",
                "/a/functions",
            ),
            (
                "/a/functions",
                "/a/functions/hello/functions/b.ts",
                "/a/functions",
            ),
            (
                "/a/functions",
                "/a/other/functions/index.ts",
                "/a/functions",
            ),
            (
                "/v1",
                "/v1/supabase/functions/hello/src/b.ts",
                "/v1/supabase/functions",
            ),
            ("/v1", "/v1/index.ts", "/v1"),
        ] {
            let code = code(root, entrypoint);
            assert_eq!(code.working_folder(), Path::new(expected), "{entrypoint}");
        }
    }

    fn code(root: &str, entrypoint: &str) -> Code {
        Code {
            root: root.into(),
            static_files: Vec::new(),
            entrypoint: entrypoint.into(),
            named_imports: None,
            place: PathBuf::new(),
            deno_dir: PathBuf::new(),
            account: None,
            revision: String::new(),
            is_confined: false,
            shown_root: "supabase/functions/",
        }
    }

    #[test]
    fn paths_are_shown_as_people_know_them() {
        let code = code("/home/ann/my shop/supabase/functions", "");

        let told =
            "error: Expected ';' at file:///home/ann/my%20shop/supabase/functions/a/index.ts:3:7\n";
        assert_eq!(
            code.explain(told),
            "Expected ';' at supabase/functions/a/index.ts:3:7"
        );
        let told = "/home/ann/my shop/supabase/functions/a/deno.json: EOF";
        assert_eq!(code.shorten(told), "supabase/functions/a/deno.json: EOF");
        assert_eq!(code.explain(" "), "the runtime ended without a word");
    }
}
