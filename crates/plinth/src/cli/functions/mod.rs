//! `plinth functions`: functions in `supabase/functions/`, and deployed ones.

mod command;
mod deploy;
mod download;
mod form;
mod import_map;
mod jsonc;
mod new;
mod sources;
mod specifiers;

use plinth_settings::Loader;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    Client, Format, Global,
    args::{LogsArgs, RecordFilter},
    client::segment,
    logs,
    output::{confirm, print, print_list, to_json},
    projects::{confirm_change, print_target, resolve},
};
use crate::{
    failure::{Failure, Outcome},
    folder::Folder,
};

pub(crate) use command::FunctionsCommand;

const COLUMNS: &[(&str, &str)] = &[
    ("NAME", "slug"),
    ("VERSION", "version"),
    ("VERIFY JWT", "verify_jwt"),
    ("UPDATED", "updated_at"),
    ("ID", "id"),
];
const VERSIONS: &[(&str, &str)] = &[
    ("VERSION", "version"),
    ("ACTIVE", "is_active"),
    ("DEPLOYED", "created_at"),
    ("LAST ACTIVATED", "activated_at"),
    ("SHA-256", "ezbr_sha256"),
];

pub(super) async fn run(global: &Global, command: FunctionsCommand) -> Outcome {
    match command {
        FunctionsCommand::New(args) => new::run(global, &args),
        FunctionsCommand::List => list(global).await,
        FunctionsCommand::Deploy(args) => deploy::run(global, &args).await,
        FunctionsCommand::Delete { name } => delete(global, &name).await,
        FunctionsCommand::Download { name } => download::run(global, &name).await,
        FunctionsCommand::Versions { name } => versions(global, &name).await,
        FunctionsCommand::Rollback { name, version } => roll_back(global, &name, version).await,
        FunctionsCommand::Logs { name, filter } => show_logs(global, name, filter).await,
    }
}

/// Path of the project's functions in the Management API.
fn base(reference: &str) -> String {
    format!("/v1/projects/{reference}/functions")
}

/// Path of a function in the platform API.
fn platform_path(global: &Global, name: &str) -> String {
    let (project, name) = (segment(&global.reference), segment(name));
    format!("/platform/projects/{project}/functions/{name}")
}

async fn list(global: &Global) -> Outcome {
    let client = Client::connect(global)?;
    let reference = resolve(&client, &global.reference).await?;
    let mut functions = client.get(&base(&reference)).await?;
    if global.output != Format::Json {
        for function in functions.as_array_mut().into_iter().flatten() {
            function["updated_at"] = readable(&function["updated_at"]);
        }
    }
    print_list(global.output, &functions, COLUMNS)?;
    let served = served_from_folder(&client, global)?;
    if !served.is_empty() {
        eprintln!("Served from supabase/functions/: {}", served.join(", "));
    }
    Ok(())
}

/// Functions that the local server serves from the folder, instead of deployed ones.
fn served_from_folder(client: &Client, global: &Global) -> Outcome<Vec<String>> {
    if client.remote().is_some() || global.reference != "default" {
        return Ok(Vec::new());
    }
    let root = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?.root;
    let settings = Loader::new().folder(&root).process_environment().load()?;
    let settings = settings.settings;
    let mut names = sources::names(&root, &settings);
    names.retain(|name| {
        sources::is_enabled(&settings, name)
            && sources::entrypoint(&root, &settings, name).is_file()
    });
    Ok(names)
}

/// The API has Unix milliseconds for functions.
fn readable(milliseconds: &Value) -> Value {
    let seconds = milliseconds.as_i64().unwrap_or_default() / 1000;
    let at = OffsetDateTime::from_unix_timestamp(seconds).ok();
    at.and_then(|at| at.format(&Rfc3339).ok()).into()
}

async fn delete(global: &Global, name: &str) -> Outcome {
    let client = Client::connect(global)?;
    let reference = resolve(&client, &global.reference).await?;
    let path = format!("{}/{}", base(&reference), segment(name));
    client.get(&path).await?;
    print_target(&client, &reference).await;
    let question = format!("Delete the function {name} with all its versions?");
    if !confirm(&question, global.yes)? {
        eprintln!("Nothing was deleted.");
        return Ok(());
    }
    client.delete(&path).await?;
    eprintln!("Deleted {name}.");
    Ok(())
}

async fn versions(global: &Global, name: &str) -> Outcome {
    let client = Client::connect(global)?;
    let path = format!("{}/versions", platform_path(global, name));
    print_list(global.output, &client.get(&path).await?, VERSIONS)
}

async fn roll_back(global: &Global, name: &str, version: Option<i32>) -> Outcome {
    let client = Client::connect(global)?;
    let reference = resolve(&client, &global.reference).await?;
    if !confirm_change(&client, global, &reference).await? {
        return Ok(());
    }
    let path = format!("{}/rollback", platform_path(global, name));
    let body = json!({ "version": version });
    let function = client.post(&path, body).await?;
    if global.output == Format::Json {
        return print(&to_json(&function)?);
    }
    eprintln!("{name} is at version {} again.", function["version"]);
    Ok(())
}

async fn show_logs(global: &Global, name: Option<String>, mut filter: RecordFilter) -> Outcome {
    if let Some(name) = name {
        check_name(&name)?;
        let term = format!("function:{name}");
        filter.grep = Some(match filter.grep {
            Some(terms) => format!("{term} {terms}"),
            None => term,
        });
    }
    let args = LogsArgs {
        sources: vec!["functions".to_owned()],
        filter,
    };
    logs::run(global, args).await
}

/// Checks a function's name before anything is written or uploaded.
fn check_name(name: &str) -> Outcome {
    let has_valid_start = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if has_valid_start && name.chars().all(is_plain) {
        Ok(())
    } else {
        Err(Failure::usage(format!(
            "Invalid Function name: {name}. Must start with at least one letter, and only include \
             alphanumeric characters, underscores, and hyphens."
        )))
    }
}
