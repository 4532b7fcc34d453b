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
    output::{confirm, print, print_list, print_pairs},
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
        BranchesCommand::Diff { name, schema } => {
            let branch = client.get(&format!("{path}/{}", segment(&name))).await?;
            let schemas = segment(&schema.join(","));
            let reference = text(&branch, "project_ref");
            let path = format!("/v1/branches/{reference}/diff?included_schemas={schemas}");
            let sql = client.download(&path, "text/plain").await?;
            print(&String::from_utf8_lossy(&sql.bytes))
        }
        BranchesCommand::Merge { name, no_functions } => {
            merge(&client, global, &name, !no_functions).await
        }
        BranchesCommand::Rebase { name, resolve } => {
            let path = review_path(&client, global, &name, "rebase").await?;
            let job = client.post(&path, json!({ "resolve": resolve })).await?;
            let message = wait_for(&client, &text(&job, "job_id"))
                .await?
                .map_err(|error| {
                    Failure::new(Kind::Failure, format!("rebasing {name} failed: {error}"))
                })?;
            eprintln!("{message}.");
            Ok(())
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

async fn review_path(client: &Client, global: &Global, name: &str, what: &str) -> Outcome<String> {
    let project = resolve(client, &global.reference).await?;
    let name = segment(name);
    Ok(format!(
        "/platform/projects/{project}/branches/{name}/{what}"
    ))
}

/// Shows what would change, asks, merges and waits.
async fn merge(client: &Client, global: &Global, name: &str, with_functions: bool) -> Outcome {
    let path = review_path(client, global, name, "review").await?;
    let review = client.get(&path).await?;
    if review["is_empty"] == json!(true) {
        eprintln!("There is nothing to merge.");
        return Ok(());
    }
    let sql = text(&review, "sql");
    if !sql.is_empty() {
        print(&sql)?;
    }
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    eprintln!(
        "{} migrations and {} functions differ.",
        count(&review["migrations"]["pending"]),
        count(&review["functions"]),
    );
    if review["is_destructive"] == json!(true) {
        eprintln!("Some of these statements lose rows or values.");
    }
    let question = format!("Merge branch {name} into project {}?", global.reference);
    if !confirm(&question, global.yes)? {
        eprintln!("Nothing was changed.");
        return Ok(());
    }
    let path = review_path(client, global, name, "merge").await?;
    let body = json!({ "review_token": review["review_token"], "functions": with_functions });
    let job = client.post(&path, body).await?;
    let message = wait_for(client, &text(&job, "job_id"))
        .await?
        .map_err(|error| Failure::new(Kind::Failure, format!("merging {name} failed: {error}")))?;
    eprintln!("{message}.");
    Ok(())
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

async fn wait_for_job(client: &Client, name: &str, job: &str) -> Outcome {
    match wait_for(client, job).await? {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::new(
            Kind::Failure,
            format!("creating branch {name} failed: {error}"),
        )
        .next_step(
            "It was removed. Retry `plinth branches create`, with --end-sessions if other \
             sessions on the source may be terminated.",
        )),
    }
}

/// Waits for a job and shows its progress in one line of a terminal. Returns its last message, or why
/// it failed.
async fn wait_for(client: &Client, job: &str) -> Outcome<Result<String, String>> {
    let is_terminal = std::io::stderr().is_terminal();
    let mut shown = String::new();
    for poll in 0_usize.. {
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
            "queued" | "running" => {
                tokio::time::sleep(POLL_INTERVALS[usize::from(poll > SHORT_POLLS)]).await;
            }
            "succeeded" => return Ok(Ok(text(&now, "message"))),
            _ => return Ok(Err(text(&now, "error"))),
        }
    }
    Ok(Err(String::new()))
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
