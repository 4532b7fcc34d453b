//! `plinth branches`.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    Client, Global,
    args::BranchesCommand,
    client::segment,
    output::{confirm, print_list, print_pairs},
    projects::{resolve, status_of, text},
};
use crate::failure::{Failure, Kind, Outcome};

const COLUMNS: &[(&str, &str)] = &[
    ("NAME", "name"),
    ("REF", "project_ref"),
    ("STATUS", "preview_project_status"),
    ("DEFAULT", "is_default"),
    ("CREATED", "created_at"),
];

/// What an application needs to use the branch.
const STATUS: [&str; 9] = [
    "API_URL",
    "DB_URL",
    "PUBLISHABLE_KEY",
    "SECRET_KEY",
    "ANON_KEY",
    "SERVICE_ROLE_KEY",
    "STORAGE_S3_URL",
    "S3_PROTOCOL_ACCESS_KEY_ID",
    "S3_PROTOCOL_ACCESS_KEY_SECRET",
];

/// Poll intervals of a job: short at first, because most jobs are, then within a token's rate limit.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
const SHORT_POLLS: usize = 8;

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
            no_wait,
        } => {
            let body = json!({
                "branch_name": name,
                "git_branch": git_branch,
                "persistent": persistent,
                "end_sessions": end_sessions,
            });
            let branch = client.post(&path, body).await?;
            create(&client, global, &branch, no_wait).await
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

/// Prints how the branch is copied, and waits for a dump and restore.
async fn create(client: &Client, global: &Global, branch: &Value, no_wait: bool) -> Outcome {
    let (name, copy) = (text(branch, "name"), &branch["copy"]);
    let mut status = text(branch, "preview_project_status");
    if let Some(reason) = copy["reason"].as_str() {
        eprintln!("{reason}; it is dumped and restored instead, and stays in service.");
    }
    match copy["job_id"].as_str() {
        Some(job) if no_wait => eprintln!("Branch {name} is being created by job {job}."),
        Some(job) => {
            wait_for_job(client, &name, job).await?;
            "ACTIVE_HEALTHY".clone_into(&mut status);
            eprintln!("Dumped and restored.");
        }
        None => eprintln!("Copied."),
    }
    show(client, global, branch, status).await
}

/// Waits for a job and shows its progress in one line of a terminal.
async fn wait_for_job(client: &Client, name: &str, job: &str) -> Outcome {
    let is_terminal = std::io::stderr().is_terminal();
    let mut shown = String::new();
    for poll in 0.. {
        let now = client.get(&format!("/platform/jobs/{job}")).await?;
        let progress = &now["progress"];
        let line = format!(
            "{} of {} {}: {}",
            progress["done"],
            progress["total"],
            text(progress, "unit"),
            text(&now, "message")
        );
        if is_terminal && line != shown && progress["total"] != json!(0) {
            eprint!("\r\x1b[K{line}");
            _ = std::io::stderr().flush();
            shown = line;
        }
        let state = text(&now, "state");
        if state != "running" && is_terminal && !shown.is_empty() {
            eprint!("\r\x1b[K");
        }
        match state.as_str() {
            "running" => {
                tokio::time::sleep(POLL_INTERVALS[usize::from(poll > SHORT_POLLS)]).await;
            }
            "succeeded" => return Ok(()),
            _ => {
                let error = text(&now, "error");
                return Err(Failure::new(
                    Kind::Failure,
                    format!("creating branch {name} failed: {error}"),
                )
                .next_step(
                    "It was removed. Retry `plinth branches create`, with --end-sessions if other \
                     sessions on the source may be terminated.",
                ));
            }
        }
    }
    Ok(())
}

async fn show(client: &Client, global: &Global, branch: &Value, status: String) -> Outcome {
    let reference = text(branch, "project_ref");
    let values = status_of(client, &reference).await?;
    let copy = &branch["copy"];
    let mut pairs = vec![
        ("NAME".to_owned(), text(branch, "name")),
        ("PLINTH_REF".to_owned(), reference),
    ];
    for key in STATUS {
        if let Some(value) = values[key].as_str() {
            pairs.push((key.to_owned(), value.to_owned()));
        }
    }
    pairs.push(("STATUS".to_owned(), status));
    pairs.push(("COPY_METHOD".to_owned(), text(copy, "method")));
    pairs.push(("COPY_REASON".to_owned(), text(copy, "reason")));
    if let Some(job) = copy["job_id"].as_str() {
        pairs.push(("JOB".to_owned(), job.to_owned()));
    }
    print_pairs(global.output, &pairs)
}
