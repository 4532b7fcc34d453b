//! `plinth migration`.

use std::{
    collections::HashSet,
    fs,
    io::{IsTerminal, Read},
    path::Path,
};

use serde_json::{Value, json};
use time::{OffsetDateTime, macros::format_description};

use super::{
    Client, Global,
    args::MigrationCommand,
    client::segment,
    output::{print, print_list},
};
use crate::{
    failure::{Failure, Kind, Outcome},
    files::{self, Migrations, Pending},
    folder::Folder,
};

pub(super) async fn run(global: &Global, command: MigrationCommand) -> Outcome {
    let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
    match command {
        MigrationCommand::New { name } => create(&folder, &name),
        MigrationCommand::List { check } => list(global, &folder, check).await,
        MigrationCommand::Up { include_all, to } => {
            let client = Client::connect(global)?;
            let local = files::migrations(&folder)?;
            apply(&client, global, &local, include_all, to.as_deref()).await
        }
    }
}

fn create(folder: &Folder, name: &str) -> Outcome {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Failure::usage(format!(
            "{name:?} is not a name for a migration: use letters, digits, - and _"
        )));
    }
    let migrations = folder.migrations();
    fs::create_dir_all(&migrations)?;
    let mut content = String::new();
    if !std::io::stdin().is_terminal() {
        std::io::stdin().read_to_string(&mut content)?;
    }
    // Two commands at the same time must not choose the same version.
    let lock = fs::File::open(&migrations)?;
    lock.lock()?;
    let version = free_version(&migrations, OffsetDateTime::now_utc())?;
    let path = migrations.join(format!("{version}_{name}.sql"));
    fs::write(&path, content)?;
    drop(lock);
    let shown = path.strip_prefix(&folder.root).unwrap_or(&path);
    print(&format!("{}\n", shown.display()))
}

/// The time as a version, or the next second whose version no file has.
fn free_version(migrations: &Path, mut time: OffsetDateTime) -> Outcome<String> {
    let mut taken = HashSet::new();
    for entry in fs::read_dir(migrations)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let version = name.split_once('_').map_or("", |(version, _)| version);
        taken.insert(version.to_owned());
    }
    let form = format_description!("[year][month][day][hour][minute][second]");
    loop {
        let version = time.format(form)?;
        if !taken.contains(&version) {
            return Ok(version);
        }
        time += time::Duration::SECOND;
    }
}

async fn list(global: &Global, folder: &Folder, check: bool) -> Outcome {
    let client = Client::connect(global)?;
    let local = files::migrations(folder)?;
    let applied = applied(&client, global).await?;
    let mut versions: Vec<&str> = local
        .files
        .iter()
        .map(|file| file.version.as_str())
        .collect();
    versions.extend(applied.iter().map(|(version, _)| version.as_str()));
    versions.sort_unstable();
    versions.dedup();
    let rows: Vec<Value> = versions
        .iter()
        .map(|version| {
            let file = local.files.iter().find(|file| file.version == *version);
            let row = applied.iter().find(|(applied, _)| applied == version);
            let name = file
                .map(|file| file.name.clone())
                .or(row.and_then(|(_, name)| name.clone()));
            json!({
                "local": file.map(|file| &file.version),
                "remote": row.map(|(version, _)| version),
                "time": readable_time(version),
                "name": name,
            })
        })
        .collect();
    let columns = [
        ("LOCAL", "local"),
        ("REMOTE", "remote"),
        ("TIME (UTC)", "time"),
        ("NAME", "name"),
    ];
    print_list(global.output, &json!(rows), &columns)?;
    for skipped in &local.skipped {
        eprintln!("warning: not a migration: {skipped}");
    }
    let differs = rows
        .iter()
        .any(|row| row["local"].is_null() || row["remote"].is_null());
    if check && differs {
        Err(
            Failure::new(Kind::Conflict, "the folder and the database differ")
                .next_step("`plinth migration up` applies what is pending."),
        )
    } else {
        Ok(())
    }
}

/// `20240102030405` as a date and time; other versions as they are.
fn readable_time(version: &str) -> String {
    match (version.len(), version.is_ascii()) {
        (14, true) => format!(
            "{}-{}-{} {}:{}:{}",
            &version[..4],
            &version[4..6],
            &version[6..8],
            &version[8..10],
            &version[10..12],
            &version[12..]
        ),
        _ => version.to_owned(),
    }
}

/// Versions and names of applied migrations.
async fn applied(client: &Client, global: &Global) -> Outcome<Vec<(String, Option<String>)>> {
    let path = format!(
        "/platform/projects/{}/migrations",
        segment(&global.reference)
    );
    let rows = client.get(&path).await?;
    let rows = rows.as_array().cloned().unwrap_or_default();
    Ok(rows
        .iter()
        .map(|row| {
            let name = row["name"].as_str().map(str::to_owned);
            (row["version"].as_str().unwrap_or_default().to_owned(), name)
        })
        .collect())
}

/// Applies pending files up to a version; also used after a reset.
pub(super) async fn apply(
    client: &Client,
    global: &Global,
    local: &Migrations,
    include_all: bool,
    to: Option<&str>,
) -> Outcome {
    for skipped in &local.skipped {
        eprintln!("warning: not a migration: {skipped}");
    }
    let versions: Vec<String> = applied(client, global)
        .await?
        .into_iter()
        .map(|(version, _)| version)
        .collect();
    let Pending { next, out_of_order } = files::pending(&local.files, &versions);
    if !out_of_order.is_empty() && !include_all {
        let names: Vec<String> = out_of_order.iter().map(ToString::to_string).collect();
        return Err(Failure::new(
            Kind::Conflict,
            format!(
                "older than the newest applied migration: {}",
                names.join(", ")
            ),
        )
        .next_step("Apply them too with --include-all, or give them newer versions."));
    }
    let todo: Vec<_> = out_of_order
        .into_iter()
        .chain(next)
        .filter(|file| to.is_none_or(|last| file.version.as_str() <= last))
        .collect();
    if todo.is_empty() {
        eprintln!("Nothing to apply.");
        return Ok(());
    }
    let path = format!(
        "/platform/projects/{}/migrations",
        segment(&global.reference)
    );
    for file in todo {
        let body = json!({ "file_name": file.to_string(), "sql": file.sql });
        let response = client.post(&path, body).await.map_err(|failure| {
            failure.next_step("This file was rolled back; those before it are applied.")
        })?;
        eprintln!("Applied {file}");
        for notice in response["notices"].as_array().into_iter().flatten() {
            eprintln!("  {}", notice.as_str().unwrap_or_default());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_version_that_is_taken_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let now = datetime!(2026-12-31 23:59:58 UTC);
        let version = || free_version(folder.path(), now).expect("a version");
        assert_eq!(version(), "20261231235958");

        for taken in ["20261231235958_a.sql", "20261231235959_b.sql"] {
            fs::write(folder.path().join(taken), "").expect("written");
        }
        assert_eq!(version(), "20270101000000");
    }
}
