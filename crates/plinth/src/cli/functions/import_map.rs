//! Import maps, as far as they map to files of the folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::jsonc;
use crate::failure::Outcome;

/// The mappings of an import map or of a `deno.json`.
#[derive(Debug, Default)]
pub(super) struct ImportMap {
    /// Base of relative targets.
    folder: PathBuf,
    imports: Vec<(String, String)>,
    scopes: Vec<(String, Vec<(String, String)>)>,
    /// The file with the mappings, if `deno.json` refers to one.
    pub(super) other: Option<PathBuf>,
}

impl ImportMap {
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let unreadable = |error: &dyn std::fmt::Display| {
            anyhow::anyhow!("the import map {} cannot be read: {error}", path.display())
        };
        let text = fs::read_to_string(path).map_err(|error| unreadable(&error))?;
        let value = jsonc::parse(&text).map_err(|error| unreadable(&error))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let other = value["importMap"].as_str();
        let scopes = value["scopes"].as_object().into_iter().flatten();
        let scopes = scopes.map(|(scope, mappings)| (scope.clone(), pairs(mappings)));
        Ok(Self {
            imports: pairs(&value["imports"]),
            scopes: scopes.collect(),
            other: other.map(|other| folder.join(other)),
            folder,
        })
    }

    /// The file of the folder that a specifier in this module resolves to, if any.
    pub(super) fn resolve(&self, specifier: &str, module: &Path) -> Option<PathBuf> {
        if let Some(target) = self.mapped(specifier, module) {
            return is_relative(&target).then(|| self.folder.join(target));
        }
        let beside = module.parent()?;
        is_relative(specifier).then(|| beside.join(specifier))
    }

    fn mapped(&self, specifier: &str, module: &Path) -> Option<String> {
        let mut scopes: Vec<_> = self
            .scopes
            .iter()
            .filter(|(scope, _)| is_relative(scope) && self.is_within(module, scope))
            .collect();
        scopes.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
        let scoped = scopes
            .iter()
            .find_map(|(_, mappings)| apply(mappings, specifier));
        scoped.or_else(|| apply(&self.imports, specifier))
    }

    fn is_within(&self, module: &Path, scope: &str) -> bool {
        let target = super::sources::normalized(&self.folder.join(scope));
        if scope.ends_with('/') {
            module.starts_with(target)
        } else {
            module == target
        }
    }
}

fn pairs(mappings: &Value) -> Vec<(String, String)> {
    let mappings = mappings.as_object().into_iter().flatten();
    let texts =
        mappings.filter_map(|(key, target)| Some((key.clone(), target.as_str()?.to_owned())));
    texts.collect()
}

/// The longest matching key wins: the specifier itself, or a prefix of it that ends with `/`.
fn apply(mappings: &[(String, String)], specifier: &str) -> Option<String> {
    let fitting = mappings.iter().filter(|(key, target)| {
        if key.ends_with('/') {
            target.ends_with('/') && specifier.starts_with(key.as_str())
        } else {
            specifier == key
        }
    });
    let (key, target) = fitting.max_by_key(|(key, _)| key.len())?;
    Some(format!("{target}{}", &specifier[key.len()..]))
}

fn is_relative(specifier: &str) -> bool {
    specifier.starts_with("./") || specifier.starts_with("../")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> (tempfile::TempDir, ImportMap) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deno.json");
        let text = r#"{
            // Comments are fine.
            "imports": {
                "shared": "./_shared/mod.ts",
                "shared/": "./_shared/",
                "shared/deep/": "./deep/",
                "broken/": "./broken",
                "supabase": "npm:@supabase/supabase-js@2",
            },
            "scopes": { "./hello/": { "shared": "./other.ts" } },
        }"#;
        fs::write(&path, text).expect("a file");
        let map = ImportMap::read(&path).expect("a map");
        (folder, map)
    }

    #[test]
    fn specifiers_resolve_to_files_of_the_folder_only() {
        let (folder, map) = map();
        let module = folder.path().join("a/index.ts");
        let check = |specifier: &str, expected: Option<&str>| {
            let resolved = map.resolve(specifier, &module);
            let resolved = resolved.map(|path| super::super::sources::normalized(&path));
            let expected = expected.map(|path| folder.path().join(path));
            assert_eq!(resolved, expected, "{specifier}");
        };
        check("shared", Some("_shared/mod.ts"));
        check("shared/cors.ts", Some("_shared/cors.ts"));
        check("shared/deep/x.ts", Some("deep/x.ts"));
        check("./b.ts", Some("a/b.ts"));
        check("../c.ts", Some("c.ts"));
        for outside in [
            "supabase",
            "npm:x",
            "node:fs",
            "broken/x",
            "bare",
            "/etc/passwd",
        ] {
            check(outside, None);
        }
    }

    #[test]
    fn scopes_take_precedence() {
        let (folder, map) = map();
        let module = folder.path().join("hello/index.ts");
        let resolved = map.resolve("shared", &module).expect("a file");
        assert_eq!(
            super::super::sources::normalized(&resolved),
            folder.path().join("other.ts")
        );
    }
}
