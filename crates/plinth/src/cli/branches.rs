//! `plinth branches`.

use serde_json::json;

use super::{
    Client, Global,
    args::BranchesCommand,
    client::segment,
    output::{confirm, print_list},
    projects::{resolve, show, text},
};
use crate::failure::Outcome;

const COLUMNS: &[(&str, &str)] = &[
    ("NAME", "name"),
    ("REF", "project_ref"),
    ("STATUS", "preview_project_status"),
    ("DEFAULT", "is_default"),
    ("CREATED", "created_at"),
];

pub(super) async fn run(global: &Global, command: BranchesCommand) -> Outcome {
    let client = Client::connect(global)?;
    let path = format!(
        "/v1/projects/{}/branches",
        resolve(&client, &global.reference).await?
    );
    match command {
        BranchesCommand::List => print_list(global.output, &client.get(&path).await?, COLUMNS),
        BranchesCommand::Create {
            name,
            git_branch,
            persistent,
            end_sessions,
        } => {
            let body = json!({
                "branch_name": name,
                "git_branch": git_branch,
                "persistent": persistent,
                "end_sessions": end_sessions,
            });
            let branch = client.post(&path, body).await?;
            show(&client, global, &text(&branch, "project_ref"), &name).await
        }
        BranchesCommand::Delete { name } => {
            let branch = client.get(&format!("{path}/{}", segment(&name))).await?;
            let reference = text(&branch, "project_ref");
            if !confirm(
                &format!("Delete branch {name} ({reference}) for good?"),
                global.yes,
            )? {
                eprintln!("Nothing was deleted.");
                return Ok(());
            }
            client.delete(&format!("/v1/branches/{reference}")).await?;
            eprintln!("Deleted branch {name} ({reference}).");
            Ok(())
        }
    }
}
