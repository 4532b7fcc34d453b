//! `plinth init`: creates the files of a project folder. Overwrites only with `--force`.

use std::{fs, path::Path};

use serde_json::json;

use super::{
    Format, Global,
    args::InitArgs,
    output::{print, to_json},
};
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::plain,
};

const CONFIG: &str = include_str!("init/config.toml");
const SEED: &str = include_str!("init/seed.sql");
const IGNORE: &str =
    "# Local state and secrets\n.plinth/\nsupabase/.temp\nsupabase/.branches\n.env*.local\n";

pub(super) fn run(global: &Global, args: InitArgs) -> Outcome {
    let root = match &global.workdir {
        Some(folder) => folder.clone(),
        None => std::env::current_dir()?,
    };
    let name = root
        .file_name()
        .map_or("app".into(), |name| name.to_string_lossy());
    let config = CONFIG.replace("{project_id}", &project_id(&name));
    let files = [
        ("supabase/config.toml", config.as_str()),
        ("supabase/seed.sql", SEED),
        (".gitignore", IGNORE),
    ];
    let (ignore, own) = files.split_last().expect("three files");
    if let Some((path, _)) = own
        .iter()
        .find(|(path, _)| root.join(path).exists() && !args.force)
    {
        return Err(
            Failure::new(Kind::Conflict, format!("{path} exists already"))
                .next_step("Use --force to overwrite it."),
        );
    }
    let mut written = Vec::new();
    for (path, text) in own {
        write(&root.join(path), text)?;
        written.push(*path);
    }
    if append_missing(&root.join(ignore.0), ignore.1)? {
        written.push(ignore.0);
    }
    match global.output {
        Format::Json => print(&to_json(&json!({ "files": written }))?),
        _ => {
            for path in written {
                print(&format!("{path}\n"))?;
            }
            eprintln!("Next: plinth start");
            Ok(())
        }
    }
}

/// A folder's name as a valid project id.
fn project_id(name: &str) -> String {
    let id: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c))
        .collect();
    if id.is_empty() { "app".to_owned() } else { id }
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

/// An existing `.gitignore` is kept; only missing lines are added.
fn append_missing(path: &Path, text: &str) -> Outcome<bool> {
    let existing = fs::read_to_string(path).unwrap_or_default();
    let missing: Vec<&str> = text
        .lines()
        .filter(|line| !existing.lines().any(|have| have == *line))
        .collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let gap = if existing.is_empty() || existing.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    write(path, &format!("{existing}{gap}{}\n", missing.join("\n")))?;
    Ok(true)
}
