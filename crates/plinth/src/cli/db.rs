//! `plinth db`.

use plinth_settings::Loader;
use serde_json::json;

use super::{
    Client, Format, Global,
    args::DbCommand,
    client::segment,
    migration,
    output::{confirm, print},
    print_pairs,
    projects::text,
};
use crate::{failure::Outcome, files, folder::Folder};

pub(super) async fn run(global: &Global, command: DbCommand) -> Outcome {
    let client = Client::connect(global)?;
    let project = format!("/platform/projects/{}", segment(&global.reference));
    match command {
        DbCommand::Url => {
            let url = text(&client.get(&format!("{project}/database")).await?, "url");
            match global.output {
                Format::Pretty => print(&format!("{url}\n")),
                format => print_pairs(format, &[("DB_URL".to_owned(), url)]),
            }
        }
        DbCommand::Reset { version, no_seed } => {
            let question = format!(
                "Drop everything in the database of project {} and make it anew?",
                global.reference
            );
            if !confirm(&question, global.yes)? {
                eprintln!("Nothing was changed.");
                return Ok(());
            }
            client
                .post(&format!("{project}/database/reset"), json!({}))
                .await?;
            eprintln!("The database is new.");
            let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
            migration::up(&client, global, &folder, true, version.as_deref()).await?;
            if !no_seed {
                seed(&client, &project, &folder).await?;
            }
            Ok(())
        }
    }
}

async fn seed(client: &Client, project: &str, folder: &Folder) -> Outcome {
    let loaded = Loader::new()
        .folder(&folder.root)
        .process_environment()
        .load()?;
    for seed in files::seeds(folder, &loaded.settings)? {
        let body = json!({ "path": seed.path, "sql": seed.sql });
        client.post(&format!("{project}/seed"), body).await?;
        eprintln!("Seeded {}", seed.path);
    }
    Ok(())
}
