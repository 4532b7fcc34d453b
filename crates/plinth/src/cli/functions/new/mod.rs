//! `plinth functions new`: files to begin with. Never overwrites.

use std::{fs, path::Path};

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

/// Stands for the function's name in the templates.
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
    write(&root.join(&index), &module(name, *auth))?;
    write(&root.join(&deno_json), DENO_JSON)?;
    let mut written = vec![index, deno_json];
    let config = "supabase/config.toml";
    if configure(&root.join(config), name, *auth)? {
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

/// The module to begin with.
fn module(name: &str, callers: Callers) -> String {
    let template = match callers {
        Callers::None | Callers::Apikey => APIKEY,
        Callers::User => USER,
    };
    template.replace(PLACEHOLDER, name)
}

/// Says in config.toml where the function is and who may call it, unless it says something already.
fn configure(config: &Path, name: &str, callers: Callers) -> Outcome<bool> {
    let text = fs::read_to_string(config).unwrap_or_default();
    let parsed: toml::Table = toml::from_str(&text)
        .map_err(|error| anyhow::anyhow!("{} cannot be read: {error}", config.display()))?;
    let known = parsed.get("functions").and_then(|all| all.get(name));
    if known.is_some() {
        return Ok(false);
    }
    let gap = match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    };
    let verify_jwt = callers != Callers::None;
    let section = format!(
        "{text}{gap}\n[functions.{name}]\nenabled = true\nverify_jwt = {verify_jwt}\n\
         import_map = \"./functions/{name}/deno.json\"\n\
         entrypoint = \"./functions/{name}/index.ts\"\n\
         # Files that the function reads while it runs:\n\
         # static_files = [\"./functions/{name}/*.html\"]\n"
    );
    write(config, section.trim_start())?;
    Ok(true)
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
    fn templates_say_the_name_and_are_otherwise_as_they_were() {
        for callers in [Callers::None, Callers::Apikey, Callers::User] {
            let module = module("hello", callers);
            assert!(module.starts_with("// hello: "), "{module}");
            assert!(!module.contains(PLACEHOLDER), "{module}");
        }
        assert!(module("hello", Callers::Apikey).contains("`Hello ${name}!`"));
    }

    #[test]
    fn config_toml_keeps_what_it_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("config.toml");
        fs::write(&config, "project_id = \"shop\"").expect("a file");

        assert!(configure(&config, "hook", Callers::None).expect("written"));
        assert!(!configure(&config, "hook", Callers::User).expect("known"));
        assert!(configure(&config, "mine", Callers::User).expect("written"));

        let text = fs::read_to_string(&config).expect("a file");
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
}
