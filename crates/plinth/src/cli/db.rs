//! `plinth db`.

use plinth_platform::SeedFile;
use plinth_settings::Loader;
use serde_json::json;

use super::{
    Client, Format, Global,
    args::DbCommand,
    client::segment,
    migration,
    output::{confirm, print, to_json},
    print_pairs,
    projects::text,
};
use crate::{
    failure::{Failure, Kind, Outcome},
    files::{self, Migrations},
    folder::Folder,
};

pub(super) async fn run(global: &Global, command: DbCommand) -> Outcome {
    let client = Client::connect(global)?;
    let project = format!("/platform/projects/{}", segment(&global.reference));
    match command {
        DbCommand::Url => print_url(&client, global, &project).await,
        DbCommand::Advisors { level, fail_on } => {
            advisors(&client, global, &project, &level, fail_on.as_deref()).await
        }
        DbCommand::Password { password } => {
            let body = json!({ "password": password });
            client
                .patch(&format!("{project}/database/password"), body)
                .await?;
            eprintln!("The password of the database was changed. Open sessions stay.");
            print_url(&client, global, &project).await
        }
        DbCommand::Reset { version, no_seed } => {
            let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
            // Before anything is dropped: afterwards there would be nothing to go back to.
            let files = ResetFiles::read(&folder, version.as_deref(), no_seed)?;
            let question = format!(
                "Drop everything in the database of project {} and recreate it?",
                global.reference
            );
            if !confirm(&question, global.yes)? {
                eprintln!("Nothing was changed.");
                return Ok(());
            }
            client
                .post(&format!("{project}/database/reset"), json!({}))
                .await?;
            eprintln!("The database was recreated.");
            migration::apply(&client, global, &files.migrations, true, version.as_deref()).await?;
            for seed in files.seeds {
                let body = json!({ "path": seed.path, "sql": seed.sql });
                client.post(&format!("{project}/seed"), body).await?;
                eprintln!("Seeded {}", seed.path);
            }
            Ok(())
        }
    }
}

/// Prints findings, worst first, each with its fix.
async fn advisors(
    client: &Client,
    global: &Global,
    project: &str,
    level: &str,
    fail_on: Option<&str>,
) -> Outcome {
    const LEVELS: [&str; 3] = ["error", "warn", "info"];
    let rank = |level: &str| {
        let level = level.to_ascii_lowercase();
        LEVELS
            .iter()
            .position(|of| *of == level)
            .unwrap_or(LEVELS.len())
    };
    let answer = client.get(&format!("{project}/advisors")).await?;
    let found = answer["findings"].as_array().cloned().unwrap_or_default();
    let at_least = |level: &str| -> Vec<serde_json::Value> {
        let is_meant = |finding: &&serde_json::Value| {
            finding["ignored"].is_null() && rank(&text(finding, "level")) <= rank(level)
        };
        found.iter().filter(is_meant).cloned().collect()
    };
    let shown = at_least(level);
    if global.output == Format::Json {
        print(&to_json(&serde_json::Value::Array(shown))?)?;
    } else {
        for finding in &shown {
            print(&format!(
                "{}: {}\n",
                text(finding, "level"),
                text(finding, "detail")
            ))?;
            if let Some(fix) = finding["fix"].as_str() {
                print(&format!("    {}\n", fix.replace('\n', "\n    ")))?;
            }
        }
        for check in answer["not_run"].as_array().into_iter().flatten() {
            eprintln!(
                "Not run: {}: {}.",
                text(check, "name"),
                text(check, "reason")
            );
        }
    }
    match fail_on.map(at_least) {
        Some(bad) if !bad.is_empty() => Err(Failure::new(
            Kind::Failure,
            format!("{} findings are as bad as that, or worse", bad.len()),
        )),
        _ => Ok(()),
    }
}

/// The files that make the new database.
struct ResetFiles {
    migrations: Migrations,
    seeds: Vec<SeedFile>,
}

impl ResetFiles {
    /// Reads them all. `version` must be that of a migration.
    fn read(folder: &Folder, version: Option<&str>, no_seed: bool) -> Outcome<Self> {
        let migrations = files::migrations(folder)?;
        if let Some(version) = version
            && !migrations.files.iter().any(|file| file.version == version)
        {
            return Err(Failure::usage(format!(
                "no file in supabase/migrations has the version {version}"
            )));
        }
        let loaded = Loader::new()
            .folder(&folder.root)
            .process_environment()
            .load()?;
        let seeds = if no_seed {
            Vec::new()
        } else {
            files::seeds(folder, &loaded.settings)?
        };
        Ok(Self { migrations, seeds })
    }
}

async fn print_url(client: &Client, global: &Global, project: &str) -> Outcome {
    let url = text(&client.get(&format!("{project}/database")).await?, "url");
    match global.output {
        Format::Pretty => print(&format!("{url}\n")),
        format => print_pairs(format, &[("DB_URL".to_owned(), url)]),
    }
}
