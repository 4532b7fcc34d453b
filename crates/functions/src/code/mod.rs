//! A function's source code on the disk, and what belongs to it: import map, lock file, packages.

mod import_map;
mod jsonc;
mod lock_file;

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::{Path, PathBuf},
};

use serde_json::Value;
use url::Url;

pub(crate) use self::import_map::ImportMap;
use self::lock_file::{MAX_LOCK_FILE_BYTES, version_pins};
use crate::account::Account;

/// The sources of one version of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Code {
    /// The directory that the function may read; static files may be elsewhere.
    pub(crate) root: PathBuf,
    pub(crate) static_files: Vec<PathBuf>,
    pub(crate) entrypoint: PathBuf,
    /// The import map that the settings or the deployment name.
    pub(crate) import_map: Option<PathBuf>,
    /// Our own files for it: the resolved import map, the lock file, and the note that it is prepared.
    pub(crate) work_dir: PathBuf,
    /// Fetched packages, one directory per project: packages may be private.
    pub(crate) deno_dir: PathBuf,
    /// The user that it runs as, if not ours.
    pub(crate) account: Option<Account>,
    /// Changes with the sources.
    pub(crate) revision: String,
    /// Whether nothing outside of `root` may be imported. The runtime needs no permission for static
    /// imports.
    pub(crate) is_confined: bool,
    /// How messages show `root`.
    pub(crate) display_root: &'static str,
}

/// A longer error message of the runtime is cut.
const MAX_ERROR_CHARS: usize = 4_000;

impl Code {
    /// The file that names its imports, as its files are now.
    pub(crate) fn imports(&self) -> ImportMap {
        ImportMap::choose(self.import_map.clone(), &self.entrypoint, &self.root)
    }

    /// The current directory of its workers: the `functions` folder, whether it is served from there or
    /// was deployed with its parent folders.
    pub(crate) fn current_dir(&self) -> &Path {
        let folders = self.entrypoint.ancestors().skip(1);
        let inside = folders.take_while(|folder| folder.starts_with(&self.root));
        let of_functions = inside.filter(|folder| folder.ends_with("functions"));
        of_functions.last().unwrap_or(&self.root)
    }

    /// npm packages, which may read their own files.
    pub(crate) fn packages(&self) -> PathBuf {
        self.deno_dir.join("npm")
    }

    /// Where the runtime keeps the Cache API.
    pub(crate) fn web_caches(&self) -> PathBuf {
        self.deno_dir.join("location_data")
    }

    /// All of its paths on disk.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let Self {
            root,
            static_files,
            entrypoint,
            import_map,
            work_dir,
            deno_dir,
            ..
        } = self;
        let all = [root, entrypoint, work_dir, deno_dir].into_iter();
        let all = all.chain(static_files).chain(import_map);
        all.map(PathBuf::as_path)
    }

    pub(crate) fn import_map_file(&self) -> PathBuf {
        self.work_dir.join("import_map.json")
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.work_dir.join("deno.lock")
    }

    /// The lock file that is being written. A worker may be reading the current one.
    pub(crate) fn new_lock_file(&self) -> PathBuf {
        self.work_dir.join("new.lock")
    }

    /// A hash of how its imports are resolved, which is fixed when a process starts: a prewarmed process
    /// can run this code if it has the same. `None` if only a process of its own can.
    pub(crate) fn resolution_hash(&self) -> Option<u64> {
        let config = match self.imports() {
            ImportMap::Config(config) => Some(config),
            ImportMap::Map(_) | ImportMap::None => None,
            // The runtime looks for it beside the main module.
            ImportMap::Package(_) => return None,
        };
        let entrypoint = fs::read_to_string(&self.entrypoint).ok()?;
        // Only a main module has `import.meta.main`, and is read without a permission.
        let is_elsewhere =
            !self.entrypoint.starts_with(&self.root) || !self.static_files.is_empty();
        if entrypoint.contains("import.meta.main") || is_elsewhere {
            return None;
        }
        let files = [
            Some(self.import_map_file()),
            Some(self.lock_file()),
            Some(self.work_dir.join(".npmrc")),
            config.clone(),
        ];
        let texts = files.map(|file| fs::read(file?).ok());
        let mut hasher = DefaultHasher::new();
        (texts, config).hash(&mut hasher);
        Some(hasher.finish())
    }

    /// The version pins of a `deno.lock` beside the entrypoint. The error says what is wrong with it.
    pub(crate) fn user_lock(&self) -> Result<Option<Value>, String> {
        let own = self.entrypoint.with_file_name("deno.lock");
        let is_trusted = !self.is_confined || !own.is_symlink();
        if !own.is_file() || !is_trusted {
            return Ok(None);
        }
        let invalid = |error: &dyn std::fmt::Display| format!("{}: {error}", own.display());
        let length = own.metadata().map_or(u64::MAX, |file| file.len());
        if length > MAX_LOCK_FILE_BYTES {
            return Err(invalid(&"too large to be a lock file"));
        }
        let text = fs::read_to_string(&own).map_err(|error| invalid(&error))?;
        let lock = serde_json::from_str(&text).map_err(|error| invalid(&error))?;
        Ok(Some(version_pins(lock)))
    }

    /// Starts the new lock file with these pins, or without any.
    pub(crate) fn begin_lock_file(&self, lock: Option<&Value>) -> io::Result<()> {
        _ = fs::remove_file(self.new_lock_file());
        match lock {
            Some(lock) => fs::write(self.new_lock_file(), lock.to_string()),
            None => Ok(()),
        }
    }

    /// Copies the file that names registries to where the runtime always looks for it.
    pub(crate) fn copy_npmrc(&self) -> io::Result<()> {
        let (beside, ours) = (
            self.entrypoint.with_file_name(".npmrc"),
            self.work_dir.join(".npmrc"),
        );
        match fs::copy(beside, &ours) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Most functions have none.
                _ = fs::remove_file(ours);
                Ok(())
            }
            copied => copied.map(drop),
        }
    }

    /// The import map that the code is run with. That of deployed code names its own files only.
    pub(crate) fn resolve_imports(&self) -> Result<Value, String> {
        self.imports()
            .resolve(self.is_confined.then_some(&*self.root))
    }

    /// Whether these very sources were prepared before.
    pub(crate) fn was_prepared(&self) -> bool {
        let is = |file: PathBuf, expected: &str| {
            fs::read_to_string(file).is_ok_and(|text| text == expected)
        };
        let map = self.resolve_imports();
        map.is_ok_and(|map| is(self.import_map_file(), &map.to_string()))
            && is(self.prepared_file(), &self.revision)
            && self.deno_dir.is_dir()
    }

    pub(crate) fn mark_prepared(&self) -> io::Result<()> {
        fs::write(self.prepared_file(), &self.revision)
    }

    /// Has it prepared again.
    pub(crate) fn clear_prepared(&self) {
        _ = fs::remove_file(self.prepared_file());
    }

    fn prepared_file(&self) -> PathBuf {
        self.work_dir.join("prepared")
    }

    /// An error message of the runtime, with paths as the developer knows them.
    pub(crate) fn explain_error(&self, stderr: &str) -> String {
        let text = stderr.trim();
        let text = text.strip_prefix("error: ").unwrap_or(text);
        let text: String = text.chars().take(MAX_ERROR_CHARS).collect();
        if text.is_empty() {
            "the runtime exited without an error message".to_owned()
        } else {
            self.shorten_paths(&text)
        }
    }

    pub(crate) fn shorten_paths(&self, text: &str) -> String {
        let path = format!("{}/", self.root.display());
        let url = Url::from_directory_path(&self.root).map(String::from);
        let text = match url {
            Ok(url) => text.replace(&url, self.display_root),
            Err(()) => text.to_owned(),
        };
        text.replace(&path, self.display_root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_directory_is_the_functions_folder() {
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
            assert_eq!(code.current_dir(), Path::new(expected), "{entrypoint}");
        }
    }

    fn code(root: &str, entrypoint: &str) -> Code {
        Code {
            root: root.into(),
            static_files: Vec::new(),
            entrypoint: entrypoint.into(),
            import_map: None,
            work_dir: PathBuf::new(),
            deno_dir: PathBuf::new(),
            account: None,
            revision: String::new(),
            is_confined: false,
            display_root: "supabase/functions/",
        }
    }

    #[test]
    fn paths_are_shown_as_developers_know_them() {
        let code = code("/home/ann/my shop/supabase/functions", "");

        let message =
            "error: Expected ';' at file:///home/ann/my%20shop/supabase/functions/a/index.ts:3:7\n";
        assert_eq!(
            code.explain_error(message),
            "Expected ';' at supabase/functions/a/index.ts:3:7"
        );
        let message = "/home/ann/my shop/supabase/functions/a/deno.json: EOF";
        assert_eq!(
            code.shorten_paths(message),
            "supabase/functions/a/deno.json: EOF"
        );
        assert_eq!(
            code.explain_error(" "),
            "the runtime exited without an error message"
        );
    }
}
