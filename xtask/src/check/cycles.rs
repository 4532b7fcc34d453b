//! The top-level modules of a crate depend on each other without cycles.
//!
//! Counted are paths that name a module (`crate::model::User`), outside of tests. Cycles that were
//! there before this rule are listed; they may only become smaller.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// What is not yet repaired: a crate and modules that reach each other.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "auth",
        &[
            "accounts",
            "admin",
            "audit",
            "caller",
            "captcha",
            "hooks",
            "mail",
            "messages",
            "model",
            "oauth",
            "password",
            "rate_limit",
            "redirect",
            "removal",
            "request",
            "service",
            "sessions",
            "signup",
            "sms",
            "timing",
            "webauthn",
        ],
    ),
    ("client", &["client", "realtime"]),
    ("gateway", &["gateway", "request_context"]),
    ("platform", &["organizations", "projects"]),
    ("plinth", &["cli", "server"]),
    ("project", &["database", "login_repair"]),
    (
        "session",
        &[
            "builder",
            "config",
            "layer",
            "metrics",
            "refresh",
            "request_context",
            "resolve",
            "runtime",
            "server_check",
            "session",
            "verify",
        ],
    ),
    ("settings", &["aliases", "layers", "remote"]),
];

type Uses = BTreeMap<String, BTreeSet<String>>;

/// One sentence for every cycle that is not known, and for every known one that is gone.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut crates = Vec::new();
    for entry in fs::read_dir(root.join("crates")).context("crates cannot be listed")? {
        crates.push(entry?.path());
    }
    crates.sort();
    let mut found = Vec::new();
    for folder in crates {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        for cycle in cycles(&uses(&folder.join("src"))?) {
            found.push((name.to_string(), cycle));
        }
    }
    Ok(compare(&found, KNOWN))
}

fn compare(found: &[(String, BTreeSet<String>)], known: &[(&str, &[&str])]) -> Vec<String> {
    let is_part = |(name, cycle): &(String, BTreeSet<String>), known: &(&str, &[&str])| {
        name == known.0
            && cycle
                .iter()
                .all(|module| known.1.contains(&module.as_str()))
    };
    let new = found
        .iter()
        .filter(|cycle| !known.iter().any(|known| is_part(cycle, known)))
        .map(|(name, cycle)| {
            let modules: Vec<_> = cycle.iter().map(String::as_str).collect();
            format!(
                "modules of {name} use each other in a circle: {}",
                modules.join(", ")
            )
        });
    let gone = known
        .iter()
        .filter(|known| !found.iter().any(|cycle| is_part(cycle, known)))
        .map(|(name, modules)| {
            format!(
                "the known circle {} of {name} is gone; remove it from xtask/src/check/cycles.rs",
                modules.join(", ")
            )
        });
    new.chain(gone).collect()
}

/// Which top-level modules each top-level module names.
fn uses(src: &Path) -> Result<Uses> {
    let roots = [src.join("lib.rs"), src.join("main.rs")];
    let Some(root) = roots.iter().find(|file| file.exists()) else {
        return Ok(Uses::new());
    };
    let modules = submodules(&read(root)?);
    let mut uses = Uses::new();
    for module in &modules {
        let mut named = BTreeSet::new();
        for file in module_files(src, module)? {
            let text = code(&read(&file)?);
            named.extend(named_from_root(&text).into_iter().map(str::to_owned));
        }
        named.retain(|name| name != module && modules.contains(name));
        uses.insert(module.clone(), named);
    }
    Ok(uses)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// The files of a module and of those in it, tests left out.
fn module_files(folder: &Path, name: &str) -> Result<Vec<PathBuf>> {
    let own_folder = folder.join(name);
    let places = [folder.join(format!("{name}.rs")), own_folder.join("mod.rs")];
    let Some(file) = places.into_iter().find(|file| file.exists()) else {
        return Ok(Vec::new());
    };
    let inner = submodules(&read(&file)?);
    let mut files = vec![file];
    for name in inner {
        files.extend(module_files(&own_folder, &name)?);
    }
    Ok(files)
}

/// Modules that are files of their own, those of tests left out.
fn submodules(text: &str) -> Vec<String> {
    let mut before = "";
    let mut names = Vec::new();
    for line in text.lines() {
        let declared = line.strip_suffix(';').and_then(|line| {
            let (visibility, name) = line.split_once("mod ")?;
            let is_declaration = visibility.is_empty() || visibility.starts_with("pub");
            is_declaration.then_some(name)
        });
        if let Some(name) = declared.filter(|_| before != "#[cfg(test)]") {
            names.push(name.to_owned());
        }
        before = line;
    }
    names
}

/// The text without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// What follows `crate::`, also in braces.
fn named_from_root(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => names.extend(first_names(list)),
            None => names.extend(leading_name(rest)),
        }
    }
    names
}

/// The first name of each member of a list that ends with its closing brace.
fn first_names(list: &str) -> Vec<&str> {
    let mut names: Vec<_> = leading_name(list).into_iter().collect();
    let mut depth = 0_u32;
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.extend(leading_name(&list[at + 1..])),
            _ => {}
        }
    }
    names
}

fn leading_name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// Groups of modules that reach each other.
fn cycles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<_, _> = uses
        .keys()
        .map(|name| (name, reachable(uses, name)))
        .collect();
    let mut cycles = Vec::new();
    for (name, theirs) in &reached {
        let is_mutual = |other: &&String| reached.get(*other).is_some_and(|r| r.contains(*name));
        let cycle: BTreeSet<_> = theirs.iter().filter(is_mutual).cloned().collect();
        if !cycle.is_empty() && !cycles.contains(&cycle) {
            cycles.push(cycle);
        }
    }
    cycles
}

fn reachable(uses: &Uses, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for next in uses.get(name).into_iter().flatten() {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().copied().map(str::to_owned).collect()
    }

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        }
    }

    #[test]
    fn no_crate_has_a_new_circle() {
        let problems = problems(workspace::root()).expect("readable");
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn a_circle_is_found_through_nested_files_and_lists() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            ("lib.rs", "mod a;\npub(crate) mod b;\npub mod c;\nmod d;\n"),
            ("a.rs", "use crate::{Error, b::{self, X}, d};"),
            ("b/mod.rs", "mod inner;"),
            ("b/inner.rs", "fn f() { crate::c::g() }"),
            ("c.rs", "use crate::a::Y;"),
            ("d.rs", "use std::fmt;"),
        ];
        write(folder.path(), &files);

        let found = cycles(&uses(folder.path()).expect("readable"));

        assert_eq!(found, [set(&["a", "b", "c"])]);
    }

    #[test]
    fn tests_and_comments_may_name_anything() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::X;"),
            (
                "b.rs",
                "// crate::a\n#[cfg(test)]\nmod samples;\n#[cfg(test)]\nmod tests {\n    use crate::a::Y;\n}\n",
            ),
            ("b/samples.rs", "use crate::a::Y;"),
        ];
        write(folder.path(), &files);

        assert!(cycles(&uses(folder.path()).expect("readable")).is_empty());
    }

    #[test]
    fn known_circles_may_shrink_and_are_removed_from_the_list() {
        let found = |modules: &[&str]| [("x".to_owned(), set(modules))];
        let known: &[(&str, &[&str])] = &[("x", &["a", "b", "c"])];

        assert!(compare(&found(&["a", "b"]), known).is_empty());
        let grown = compare(&found(&["a", "b", "d"]), known);
        assert_eq!(grown.len(), 2, "{grown:?}");
        assert!(grown[0].contains("a, b, d"), "{grown:?}");
        assert!(grown[1].contains("is gone"), "{grown:?}");
    }
}
