//! `plinth functions deploy`.

use plinth_settings::Loader;
use serde_json::{Value, json};

use super::{
    base, check_name,
    command::DeployArgs,
    form, served_from_folder,
    sources::{self, Sources},
};
use crate::{
    cli::{
        Client, Format, Global,
        client::segment,
        output::{confirm, print, print_list, to_json},
        projects::{confirm_change, resolve, text},
    },
    failure::{Failure, Outcome},
    folder::Folder,
};

/// Functions to upload.
struct Collected {
    functions: Vec<(String, Sources)>,
    /// All functions of the folder, disabled ones included.
    all_names: Vec<String>,
}

pub(super) async fn run(global: &Global, args: &DeployArgs) -> Outcome {
    let Collected {
        functions,
        all_names,
    } = collect(global, args)?;
    if args.dry_run {
        return show(global, &functions);
    }
    let client = Client::connect(global)?;
    let reference = resolve(&client, &global.reference).await?;
    if !confirm_change(&client, global, &reference).await? {
        return Ok(());
    }
    let base = base(&reference);
    let deployed = match functions.as_slice() {
        [(name, sources)] => vec![upload(&client, &base, name, sources, true).await?],
        all => deploy_together(&client, &base, all).await?,
    };
    if args.prune {
        prune(&client, global, &base, &all_names).await?;
    }
    report(global, &deployed)?;
    let served = served_from_folder(&client, global)?;
    if functions.iter().any(|(name, _)| served.contains(name)) {
        eprintln!("The server of this folder keeps serving supabase/functions/ from the folder.");
    }
    Ok(())
}

/// Reads all files before any is uploaded.
fn collect(global: &Global, args: &DeployArgs) -> Outcome<Collected> {
    let root = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?.root;
    let loaded = Loader::new().folder(&root).process_environment().load()?;
    let settings = loaded.settings;
    let mut names = args.names.clone();
    names.sort();
    names.dedup();
    for name in &names {
        check_name(name)?;
        if !sources::is_enabled(&settings, name) {
            return Err(Failure::usage(format!(
                "the function {name} is disabled in config.toml (functions.{name}.enabled)"
            )));
        }
    }
    let all_names = sources::names(&root, &settings);
    if names.is_empty() {
        let enabled = all_names
            .iter()
            .filter(|name| sources::is_enabled(&settings, name));
        names = enabled.cloned().collect();
    }
    if names.is_empty() {
        return Err(
            Failure::usage("there is no function in supabase/functions/")
                .next_step("Create one with `plinth functions new NAME`."),
        );
    }
    let mut functions = Vec::new();
    for name in names {
        let import_map = args.import_map.as_deref();
        let mut sources = sources::collect(&root, &settings, &name, import_map)?;
        if args.no_verify_jwt {
            sources.verify_jwt = Some(false);
        }
        for warning in &sources.warnings {
            eprintln!("warning: {name}: {warning}");
        }
        functions.push((name, sources));
    }
    Ok(Collected {
        functions,
        all_names,
    })
}

fn show(global: &Global, functions: &[(String, Sources)]) -> Outcome {
    let mut rows = Vec::new();
    for (name, sources) in functions {
        for (path, content) in &sources.files {
            rows.push(json!({ "function": name, "path": path, "bytes": content.len() }));
        }
    }
    let columns = [
        ("FUNCTION", "function"),
        ("PATH", "path"),
        ("BYTES", "bytes"),
    ];
    print_list(global.output, &Value::Array(rows), &columns)
}

async fn upload(
    client: &Client,
    base: &str,
    name: &str,
    sources: &Sources,
    activates: bool,
) -> Outcome<Value> {
    eprintln!("Deploying {name} ({} file(s))", sources.files.len());
    let path = format!("{base}/deploy?slug={name}&bundleOnly={}", !activates);
    client.upload(&path, form::write(name, sources)).await
}

/// Uploads all of them first and then activates them together.
async fn deploy_together(
    client: &Client,
    base: &str,
    all: &[(String, Sources)],
) -> Outcome<Vec<Value>> {
    let mut uploaded = Vec::new();
    for (name, sources) in all {
        uploaded.push(upload(client, base, name, sources, false).await?);
    }
    let mut response = client.put(base, Value::Array(uploaded)).await?;
    match response["functions"].take() {
        Value::Array(functions) => Ok(functions),
        _ => Ok(Vec::new()),
    }
}

async fn prune(client: &Client, global: &Global, base: &str, local: &[String]) -> Outcome {
    let functions = client.get(base).await?;
    let functions = functions.as_array().into_iter().flatten();
    let names: Vec<String> = functions
        .map(|function| text(function, "slug"))
        .filter(|slug| !local.contains(slug))
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let question = format!(
        "Delete functions from the server that the folder does not have: {}?",
        names.join(", ")
    );
    if !confirm(&question, global.yes)? {
        eprintln!("Nothing was deleted.");
        return Ok(());
    }
    for name in names {
        client.delete(&format!("{base}/{}", segment(&name))).await?;
        eprintln!("Deleted {name}.");
    }
    Ok(())
}

fn report(global: &Global, deployed: &[Value]) -> Outcome {
    if global.output == Format::Json {
        return print(&to_json(&json!(deployed))?);
    }
    let columns = [
        ("NAME", "slug"),
        ("VERSION", "version"),
        ("VERIFY JWT", "verify_jwt"),
        ("URL", "url"),
    ];
    print_list(global.output, &json!(deployed), &columns)
}
