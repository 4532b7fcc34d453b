//! `plinth functions new`: creates a function from a template. Never overwrites.

use std::{fs, io::ErrorKind, path::Path};

use serde_json::json;

use super::{
    check_name,
    command::{Callers, NewArgs},
};
use crate::{
    cli::{
        Format, Global,
        output::{print, to_json},
    },
    failure::{Failure, Kind, Outcome},
    folder::{Folder, plain},
};

/// Replaced by the function's name in the templates.
const PLACEHOLDER: &str = "FUNCTION_NAME";
const APIKEY: &str = include_str!("apikey.ts");
const USER: &str = include_str!("user.ts");
const DENO_JSON: &str = include_str!("deno.json");

pub(super) fn run(global: &Global, args: &NewArgs) -> Outcome {
    let NewArgs { name, auth } = args;
    check_name(name)?;
    let root = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?.root;
    let folder = format!("supabase/functions/{name}");
    if root.join(&folder).exists() {
        return Err(Failure::new(
            Kind::Conflict,
            format!("{folder} exists already"),
        ));
    }
    let index = format!("{folder}/index.ts");
    let deno_json = format!("{folder}/deno.json");
    // Checked before anything is written.
    let config = "supabase/config.toml";
    let configured = configured(&root.join(config), name, *auth)?;
    write(&root.join(&index), &module(name, *auth))?;
    write(&root.join(&deno_json), DENO_JSON)?;
    let mut written = vec![index, deno_json];
    if let Some(text) = configured {
        write(&root.join(config), &text)?;
        written.push(config.to_owned());
    }
    match global.output {
        Format::Json => print(&to_json(&json!({ "files": written }))?),
        _ => {
            for path in written {
                print(&format!("{path}\n"))?;
            }
            eprintln!("Next: plinth functions deploy {name}");
            Ok(())
        }
    }
}

/// The module from its template.
fn module(name: &str, callers: Callers) -> String {
    let template = match callers {
        Callers::None | Callers::Apikey => APIKEY,
        Callers::User => USER,
    };
    template.replace(PLACEHOLDER, name)
}

/// config.toml with a section for the function; `None` if it has one already.
fn configured(config: &Path, name: &str, callers: Callers) -> Outcome<Option<String>> {
    let unreadable = |error: &dyn std::fmt::Display| {
        anyhow::anyhow!("{} cannot be read: {error}", config.display())
    };
    let text = match fs::read_to_string(config) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unreadable(&plain(&error)).into()),
    };
    let parsed: toml::Table = toml::from_str(&text).map_err(|error| unreadable(&error))?;
    let existing = parsed.get("functions").and_then(|all| all.get(name));
    if existing.is_some() {
        return Ok(None);
    }
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let verify_jwt = callers != Callers::None;
    let section = format!(
        "[functions.{name}]\nenabled = true\nverify_jwt = {verify_jwt}\n\
         import_map = \"./functions/{name}/deno.json\"\n\
         entrypoint = \"./functions/{name}/index.ts\"\n\
         # Files that the function reads while it runs:\n\
         # static_files = [\"./functions/{name}/*.html\"]\n"
    );
    let whole = format!("{text}{gap}\n{section}").trim_start().to_owned();
    // A section cannot be added to an inline table.
    match toml::from_str::<toml::Table>(&whole) {
        Ok(_) => Ok(Some(whole)),
        Err(_) => Err(Failure::usage(format!(
            "{} has its functions in an inline table, to which no section can be added",
            config.display()
        ))
        .next_step(format!("Add this by hand, and retry:\n{section}"))),
    }
}

fn write(path: &Path, text: &str) -> Outcome {
    let explain = |error: std::io::Error| {
        anyhow::anyhow!("cannot write {}: {}", path.display(), plain(&error))
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(explain)?;
    }
    Ok(fs::write(path, text).map_err(explain)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_placeholder_is_replaced_by_the_name() {
        for callers in [Callers::None, Callers::Apikey, Callers::User] {
            let module = module("hello", callers);
            assert!(module.starts_with("// hello: "), "{module}");
            assert!(!module.contains(PLACEHOLDER), "{module}");
        }
        assert!(module("hello", Callers::Apikey).contains("`Hello ${name}!`"));
    }

    #[test]
    fn config_toml_keeps_its_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("config.toml");
        fs::write(&config, "project_id = \"shop\"").expect("a file");

        let hook = configured(&config, "hook", Callers::None).expect("understood");
        fs::write(&config, hook.expect("a new text")).expect("a file");
        let again = configured(&config, "hook", Callers::User).expect("understood");
        assert_eq!(again, None, "there is a section already");
        let mine = configured(&config, "mine", Callers::User).expect("understood");
        let text = mine.expect("a new text");
        assert!(
            text.starts_with("project_id = \"shop\"\n\n[functions.hook]\n"),
            "{text}"
        );
        let parsed: toml::Table = toml::from_str(&text).expect("TOML");
        let functions = &parsed["functions"];
        assert_eq!(functions["hook"]["verify_jwt"].as_bool(), Some(false));
        assert_eq!(functions["mine"]["verify_jwt"].as_bool(), Some(true));
        let entrypoint = functions["mine"]["entrypoint"].as_str();
        assert_eq!(entrypoint, Some("./functions/mine/index.ts"));
    }

    #[test]
    fn invalid_files_are_not_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("config.toml");
        for bytes in [
            &b"# caf\xe9\n"[..],
            b"not = [toml",
            b"functions = { a = { enabled = true } }\n",
        ] {
            fs::write(&config, bytes).expect("a file");
            configured(&config, "hook", Callers::None).expect_err("rejected");
        }
        fs::remove_file(&config).expect("removed");
        let new = configured(&config, "hook", Callers::None).expect("understood");
        assert!(new.is_some_and(|text| text.starts_with("[functions.hook]")));
    }
}
