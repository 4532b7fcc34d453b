//! The import map of a function (functions contract §6), and the resolved one that it is run with.
//!
//! The resolved map has the same names, with absolute paths, and a few of our own: modules that have no
//! content at run time, or that the npm registry has as well.

use std::{
    borrow::Cow,
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde_json::{Map, Value, json};
use url::Url;

use super::jsonc;

/// Files beside the entrypoint that name imports, by precedence.
const BESIDE_ENTRYPOINT: [&str; 3] = ["deno.json", "deno.jsonc", "import_map.json"];

/// Imports that every template has and that have no content at run time.
const WITHOUT_CONTENT: [&str; 4] = [
    "jsr:@supabase/functions-js/edge-runtime.d.ts",
    "jsr:@supabase/functions-js@2/edge-runtime.d.ts",
    "jsr:@supabase/functions-js@^2/edge-runtime.d.ts",
    "@supabase/functions-js/edge-runtime.d.ts",
];

/// The same package under other names.
const SAME_AS_NPM: [(&str, &str); 4] = [
    ("jsr:@supabase/supabase-js", "npm:@supabase/supabase-js@2"),
    ("jsr:@supabase/supabase-js@2", "npm:@supabase/supabase-js@2"),
    (
        "https://esm.sh/@supabase/supabase-js",
        "npm:@supabase/supabase-js@2",
    ),
    (
        "https://esm.sh/@supabase/supabase-js@2",
        "npm:@supabase/supabase-js@2",
    ),
];

/// No import map is larger; a device file without an end would be.
const MAX_MAP_BYTES: u64 = 4 << 20;

const EMPTY_MODULE: &str = "data:text/javascript,";

/// The file that names a function's imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ImportMap {
    /// A `deno.json`, which also has other settings.
    Config(PathBuf),
    Map(PathBuf),
    /// A `package.json` switches npm resolution on.
    Package(PathBuf),
    None,
}

impl ImportMap {
    /// The named one; else one beside the entrypoint; else the old shared one in `folder`.
    pub(crate) fn choose(named: Option<PathBuf>, entrypoint: &Path, folder: &Path) -> Self {
        if let Some(named) = named {
            return Self::from_path(named);
        }
        let beside = entrypoint.parent().unwrap_or(folder);
        let candidates = BESIDE_ENTRYPOINT.iter().map(|name| beside.join(name));
        let shared = [folder.join("import_map.json")];
        if let Some(found) = candidates.chain(shared).find(|path| path.is_file()) {
            return Self::from_path(found);
        }
        let package = beside.join("package.json");
        if package.is_file() {
            Self::Package(package)
        } else {
            Self::None
        }
    }

    fn from_path(path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default();
        if name == "deno.json" || name == "deno.jsonc" {
            Self::Config(path)
        } else {
            Self::Map(path)
        }
    }

    /// The map that the function is run with. With a root, only files below it are read. The error says
    /// what is wrong with the map.
    pub(crate) fn resolve(&self, root: Option<&Path>) -> Result<Value, String> {
        let (mut imports, scopes) = match self {
            Self::Package(_) | Self::None => Default::default(),
            Self::Map(path) => read_map(path, root)?,
            Self::Config(path) => read_config(path, root)?,
        };
        for name in WITHOUT_CONTENT {
            imports.insert(name.to_owned(), EMPTY_MODULE.into());
        }
        for (name, same) in SAME_AS_NPM {
            imports.entry(name).or_insert_with(|| same.into());
        }
        Ok(json!({ "imports": imports, "scopes": scopes }))
    }
}

type Names = Map<String, Value>;

fn read_config(path: &Path, root: Option<&Path>) -> Result<(Names, Names), String> {
    let config = read(path, root)?;
    if let Some(Value::String(map)) = config.get("importMap")
        && !config.contains_key("imports")
    {
        let folder = path.parent().unwrap_or(path);
        return read_map(&folder.join(map), root);
    }
    let (mut imports, scopes) = absolute(&config, path)?;
    // In this file, and only there, a package name also covers its subpaths.
    let packages: Vec<_> = imports
        .iter()
        .filter_map(|(name, target)| subpaths_of(name, target))
        .collect();
    for (name, target) in packages {
        imports.entry(name).or_insert_with(|| target.into());
    }
    Ok((imports, scopes))
}

/// `"x": "npm:x@1"` → `"x/": "npm:/x@1/"`.
fn subpaths_of(name: &str, target: &Value) -> Option<(String, String)> {
    let (scheme, package) = target.as_str()?.split_once(':')?;
    let is_package = matches!(scheme, "npm" | "jsr") && !name.ends_with('/');
    let package = package.trim_matches('/');
    is_package.then(|| (format!("{name}/"), format!("{scheme}:/{package}/")))
}

fn read_map(path: &Path, root: Option<&Path>) -> Result<(Names, Names), String> {
    absolute(&read(path, root)?, path)
}

fn read(path: &Path, root: Option<&Path>) -> Result<Names, String> {
    let name = path.display();
    if root.is_some_and(|root| !is_below(path, root)) {
        return Err(format!("{name}: not among the function's own files"));
    }
    let text = read_text(path).map_err(|error| format!("{name}: {error}"))?;
    match jsonc::parse(&text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(format!("{name}: expected a JSON object")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let file = fs::metadata(path)?;
    if !file.is_file() || file.len() > MAX_MAP_BYTES {
        return Err(io::Error::other("not a file, or too large to be a map"));
    }
    fs::read_to_string(path)
}

/// Whether the path is below the root, in which there are no symbolic links.
fn is_below(path: &Path, root: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else {
        return false;
    };
    let mut depth = 0_usize;
    below.components().all(|component| match component {
        Component::ParentDir => {
            let above = depth.checked_sub(1);
            depth = above.unwrap_or_default();
            above.is_some()
        }
        Component::Normal(_) => {
            depth += 1;
            true
        }
        _ => true,
    })
}

/// The same package, in the same version, from npm where it has it. Import maps are not applied to their
/// own targets.
fn from_npm(target: &str) -> Cow<'_, str> {
    let rest = target.strip_prefix("jsr:").unwrap_or_default();
    let package = rest.trim_start_matches('/');
    match package.strip_prefix("@supabase/supabase-js") {
        Some(version) if version.is_empty() || version.starts_with(['@', '/']) => {
            format!("npm:{rest}").into()
        }
        _ => target.into(),
    }
}

/// Names and targets with paths relative to the map made absolute.
fn absolute(members: &Names, path: &Path) -> Result<(Names, Names), String> {
    let base = Url::from_file_path(path)
        .map_err(|()| format!("{}: not an absolute path", path.display()))?;
    let join = |text: &str| {
        if text.starts_with("./") || text.starts_with("../") || text.starts_with('/') {
            base.join(text)
                .map_or_else(|_| text.to_owned(), String::from)
        } else {
            text.to_owned()
        }
    };
    let names = |value: Option<&Value>| -> Names {
        let members = value.and_then(Value::as_object).into_iter().flatten();
        members
            .map(|(name, target)| {
                let target = match target {
                    Value::String(target) => join(&from_npm(target)).into(),
                    other => other.clone(),
                };
                (join(name), target)
            })
            .collect()
    };
    let scopes = members.get("scopes").and_then(Value::as_object);
    let scopes = scopes.into_iter().flatten();
    let scopes = scopes.map(|(scope, inner)| (join(scope), names(Some(inner)).into()));
    Ok((names(members.get("imports")), scopes.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn the_first_file_in_the_order_of_the_contract_is_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let entry = write(root, "hello/index.ts", "");
        let choose = |named| ImportMap::choose(named, &entry, root);

        assert_eq!(choose(None), ImportMap::None);
        let package = write(root, "hello/package.json", "{}");
        assert_eq!(choose(None), ImportMap::Package(package));
        let shared = write(root, "import_map.json", "{}");
        assert_eq!(choose(None), ImportMap::Map(shared));
        let own = write(root, "hello/import_map.json", "{}");
        assert_eq!(choose(None), ImportMap::Map(own));
        let config = write(root, "hello/deno.jsonc", "{}");
        assert_eq!(choose(None), ImportMap::Config(config));
        let named = root.join("other/map.json");
        assert_eq!(choose(Some(named.clone())), ImportMap::Map(named));
    }

    #[test]
    fn paths_become_absolute_and_packages_cover_their_subpaths() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{
            // shared
            "imports": { "@/": "../_shared/", "hono": "npm:hono@4", "std/": "jsr:/@std/x@1/" },
            "scopes": { "./inner/": { "a": "./a.ts" } },
        }"#;
        let path = write(folder.path(), "hello/deno.json", text);

        let map = ImportMap::Config(path).resolve(None).unwrap();

        let root = Url::from_directory_path(folder.path()).unwrap();
        let imports = &map["imports"];
        assert_eq!(imports["@/"], root.join("_shared/").unwrap().as_str());
        assert_eq!(imports["hono"], "npm:hono@4");
        assert_eq!(imports["hono/"], "npm:/hono@4/");
        assert_eq!(imports["std/"], "jsr:/@std/x@1/");
        assert_eq!(
            imports["@supabase/functions-js/edge-runtime.d.ts"],
            EMPTY_MODULE
        );
        let scope = root.join("hello/inner/").unwrap();
        assert_eq!(
            map["scopes"][scope.as_str()]["a"],
            root.join("hello/a.ts").unwrap().as_str()
        );
    }

    #[test]
    fn packages_that_npm_has_are_taken_from_there() {
        for (target, expected) in [
            ("jsr:@supabase/supabase-js@2", "npm:@supabase/supabase-js@2"),
            ("jsr:@supabase/supabase-js", "npm:@supabase/supabase-js"),
            (
                "jsr:/@supabase/supabase-js@2/",
                "npm:/@supabase/supabase-js@2/",
            ),
            (
                "jsr:@supabase/supabase-js-extra@1",
                "jsr:@supabase/supabase-js-extra@1",
            ),
            ("jsr:@std/path@1", "jsr:@std/path@1"),
            ("./local.ts", "./local.ts"),
        ] {
            assert_eq!(from_npm(target), expected);
        }
    }

    #[test]
    fn a_map_outside_of_the_root_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "secret.json", r#"{"imports": {"a": "b"}}"#);
        let root = folder.path().join("root");
        write(&root, "shared/map.json", r#"{"imports": {"a": "b"}}"#);
        let resolve = |map: &str| {
            let text = json!({ "importMap": map }).to_string();
            let path = write(&root, "hello/deno.json", &text);
            ImportMap::Config(path).resolve(Some(&root))
        };

        let map = resolve("../shared/map.json").unwrap();
        assert_eq!(map["imports"]["a"], "b");
        let secret = folder.path().join("secret.json");
        for elsewhere in [
            "../../secret.json",
            "../shared/../../secret.json",
            "/dev/zero",
            secret.to_str().unwrap(),
        ] {
            let error = resolve(elsewhere).unwrap_err();
            assert!(error.contains("not among the function's own"), "{error}");
        }
        let device = ImportMap::Map("/dev/zero".into()).resolve(None);
        assert!(device.unwrap_err().contains("not a file"));
    }

    #[test]
    fn a_map_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "import_map.json", "{ \"imports\": ");

        let error = ImportMap::Map(path).resolve(None).unwrap_err();

        assert!(error.contains("import_map.json: EOF"), "{error}");
    }
}
