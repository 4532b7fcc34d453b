//! `plinth projects`.

use plinth_project::ProjectRef;
use serde_json::{Value, json};

use super::{
    Client, Global,
    args::ProjectsCommand,
    client::segment,
    output::{ask, confirm, print_list},
    print_pairs,
};
use crate::failure::{Failure, Kind, Outcome};

const COLUMNS: &[(&str, &str)] = &[
    ("REF", "ref"),
    ("NAME", "name"),
    ("STATUS", "status"),
    ("CREATED", "created_at"),
    ("BRANCH OF", "parent_project_ref"),
    ("ISOLATED", "isolated"),
];

pub(super) async fn run(global: &Global, command: ProjectsCommand) -> Outcome {
    let client = Client::connect(global)?;
    match command {
        ProjectsCommand::List => print_list(
            global.output,
            &client.get("/platform/projects").await?,
            COLUMNS,
        ),
        ProjectsCommand::Create {
            name,
            db_password,
            isolated,
        } => {
            let body = json!({ "name": name, "db_pass": db_password, "isolated": isolated });
            let project = client.post("/v1/projects", body).await?;
            let reference = text(&project, "ref");
            show(&client, global, &reference, &name).await
        }
        ProjectsCommand::Pause { project } => {
            let reference = resolve(&client, &project).await?;
            client
                .post(&format!("/v1/projects/{reference}/pause"), json!({}))
                .await?;
            eprintln!(
                "Paused {reference}. Its data is kept; `plinth projects resume` serves it again."
            );
            Ok(())
        }
        ProjectsCommand::Resume { project } => {
            let reference = resolve(&client, &project).await?;
            client
                .post(&format!("/v1/projects/{reference}/restore"), json!({}))
                .await?;
            eprintln!("Serving {reference} again.");
            Ok(())
        }
        ProjectsCommand::Delete {
            project,
            confirm,
            purge,
        } => delete(&client, &project, confirm, purge).await,
    }
}

async fn delete(client: &Client, project: &str, confirm: Option<String>, purge: bool) -> Outcome {
    let found = client
        .get(&format!("/platform/projects/{}", segment(project)))
        .await?;
    let (reference, name) = (text(&found, "ref"), text(&found, "name"));
    let typed = match confirm {
        Some(typed) => typed,
        None => ask(&format!(
            "This deletes project {reference} with its database, users and keys.\n\
             Type its name ({name}) to continue: "
        ))?,
    };
    if typed != name {
        return Err(Failure::new(
            Kind::Conflict,
            format!("{typed:?} is not the name of project {reference}; nothing was deleted"),
        ));
    }
    client
        .delete(&format!("/v1/projects/{reference}?purge={purge}"))
        .await?;
    if purge {
        eprintln!("Deleted {name} ({reference}) for good.");
    } else {
        eprintln!(
            "Deleted {name} ({reference}). Until the trash is emptied, `plinth projects resume \
             {reference}` restores it."
        );
    }
    Ok(())
}

/// Asks for confirmation before a project on a remote server is changed (console contract L5).
pub(super) async fn confirm_change(
    client: &Client,
    global: &Global,
    reference: &str,
) -> Outcome<bool> {
    if !print_target(client, reference).await {
        return Ok(true);
    }
    let is_confirmed = confirm("Change it?", global.yes)?;
    if !is_confirmed {
        eprintln!("Nothing was changed.");
    }
    Ok(is_confirmed)
}

/// Prints the project that is about to be changed, if the server is remote; returns whether it is.
pub(super) async fn print_target(client: &Client, reference: &str) -> bool {
    let Some(server) = client.remote() else {
        return false;
    };
    // The token may lack the scope for the name.
    let found = client.get(&format!("/platform/projects/{reference}")).await;
    let name = found.map_or_else(|_| String::new(), |found| text(&found, "name") + " ");
    eprintln!("Target: project {name}({reference}) · {server}");
    true
}

/// Resolves an alias, because `/v1` accepts refs only.
pub(super) async fn resolve(client: &Client, project: &str) -> Outcome<String> {
    if project.parse::<ProjectRef>().is_ok() {
        return Ok(project.to_owned());
    }
    let found = client
        .get(&format!("/platform/projects/{}", segment(project)))
        .await?;
    Ok(text(&found, "ref"))
}

/// The status values of a new project, or null if the token may not read them.
pub(super) async fn status_of(client: &Client, reference: &str) -> Outcome<Value> {
    let path = format!("/platform/status?project={reference}");
    match client.get(&path).await {
        Err(failure) if failure.kind() == Kind::Forbidden => Ok(Value::Null),
        status => status,
    }
}

/// Prints what an application needs to use a new project.
pub(super) async fn show(client: &Client, global: &Global, reference: &str, name: &str) -> Outcome {
    let mut pairs = vec![
        ("NAME".to_owned(), name.to_owned()),
        ("PLINTH_REF".to_owned(), reference.to_owned()),
    ];
    let status = status_of(client, reference).await?;
    for key in [
        "API_URL",
        "DB_URL",
        "PUBLISHABLE_KEY",
        "SECRET_KEY",
        "ANON_KEY",
        "SERVICE_ROLE_KEY",
        "STORAGE_S3_URL",
        "S3_PROTOCOL_ACCESS_KEY_ID",
        "S3_PROTOCOL_ACCESS_KEY_SECRET",
    ] {
        if let Some(value) = status[key].as_str() {
            pairs.push((key.to_owned(), value.to_owned()));
        }
    }
    print_pairs(global.output, &pairs)
}

pub(super) fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_default().to_owned()
}
