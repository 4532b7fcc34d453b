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
        projects::{may_change, resolve, text},
    },
    failure::{Failure, Outcome},
    folder::Folder,
};

/// What is to be sent.
struct Gathered {
    functions: Vec<(String, Sources)>,
    /// All that the folder has, also what is switched off.
    known: Vec<String>,
}

pub(super) async fn run(global: &Global, args: &DeployArgs) -> Outcome {
    let Gathered { functions, known } = gather(global, args)?;
    if args.dry_run {
        return show(global, &functions);
    }
    let client = Client::connect(global)?;
    let reference = resolve(&client, &global.reference).await?;
    if !may_change(&client, global, &reference).await? {
        return Ok(());
    }
    let base = base(&reference);
    let deployed = match functions.as_slice() {
        [(name, sources)] => vec![upload(&client, &base, name, sources, true).await?],
        all => deploy_together(&client, &base, all).await?,
    };
    if args.prune {
        prune(&client, global, &base, &known).await?;
    }
    report(global, &deployed)?;
    let served = served_from_folder(&client, global)?;
    if functions.iter().any(|(name, _)| served.contains(name)) {
        eprintln!(
            "The server of this folder goes on answering with supabase/functions/ as it stands."
        );
    }
    Ok(())
}

/// All that is to be sent, read before anything is sent.
fn gather(global: &Global, args: &DeployArgs) -> Outcome<Gathered> {
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
                "config.toml switches the function {name} off (functions.{name}.enabled)"
            )));
        }
    }
    let known = sources::names(&root, &settings);
    if names.is_empty() {
        let enabled = known
            .iter()
            .filter(|name| sources::is_enabled(&settings, name));
        names = enabled.cloned().collect();
    }
    if names.is_empty() {
        return Err(
            Failure::usage("there is no function in supabase/functions/")
                .next_step("Write one with `plinth functions new NAME`."),
        );
    }
    let mut functions = Vec::new();
    for name in names {
        let import_map = args.import_map.as_deref();
        let mut sources = sources::gather(&root, &settings, &name, import_map)?;
        if args.no_verify_jwt {
            sources.verify_jwt = Some(false);
        }
        for warning in &sources.warnings {
            eprintln!("warning: {name}: {warning}");
        }
        functions.push((name, sources));
    }
    Ok(Gathered { functions, known })
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

/// Nothing becomes active before everything is ready.
async fn deploy_together(
    client: &Client,
    base: &str,
    all: &[(String, Sources)],
) -> Outcome<Vec<Value>> {
    let mut ready = Vec::new();
    for (name, sources) in all {
        ready.push(upload(client, base, name, sources, false).await?);
    }
    let mut answer = client.put(base, Value::Array(ready)).await?;
    match answer["functions"].take() {
        Value::Array(functions) => Ok(functions),
        _ => Ok(Vec::new()),
    }
}

async fn prune(client: &Client, global: &Global, base: &str, known: &[String]) -> Outcome {
    let functions = client.get(base).await?;
    let functions = functions.as_array().into_iter().flatten();
    let names: Vec<String> = functions
        .map(|function| text(function, "slug"))
        .filter(|slug| !known.contains(slug))
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let question = format!(
        "Delete from the server what the folder does not have: {}?",
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
