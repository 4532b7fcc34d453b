//! `plinth storage check`: over the API while the server runs, else on the data itself (console
//! contract L71).

mod messages;
mod report;

use http_body_util::BodyExt as _;
use plinth_project::{FileCheck, ProjectName, ProjectStatus};
use serde_json::json;

use super::{
    Client, Format, Global,
    args::{CheckArgs, StorageCommand},
    client::segment,
    projects::text,
};
use crate::{
    failure::{Kind, Outcome},
    server::Offline,
};
use report::Report;

pub(super) async fn run(global: &Global, command: StorageCommand) -> Outcome {
    let StorageCommand::Check(args) = command;
    let mut report = Report::new(if args.json {
        Format::Json
    } else {
        global.output
    });
    let checked = match Client::connect(global) {
        Ok(client) => check_online(&client, global, &args, &mut report).await,
        Err(failure) if failure.kind() == Kind::NotRunning => {
            check_offline(global, &args, &mut report).await
        }
        Err(failure) => Err(failure),
    };
    report.finish(checked)
}

/// The project to check; all if `None`.
fn selected_project<'a>(global: &'a Global, args: &'a CheckArgs) -> Option<&'a str> {
    let by_ref = Some(global.reference.as_str()).filter(|name| *name != "default");
    args.project.as_deref().or(by_ref)
}

/// Has the server check.
async fn check_online(
    client: &Client,
    global: &Global,
    args: &CheckArgs,
    report: &mut Report,
) -> Outcome {
    let projects = match selected_project(global, args) {
        Some(name) => {
            let path = format!("/platform/projects/{}", segment(name));
            vec![client.get(&path).await?]
        }
        None => {
            let all = client.get("/platform/projects").await?;
            all.as_array().cloned().unwrap_or_default()
        }
    };
    let options = json!({ "repair": args.repair, "verify_digests": args.verify_digests });
    for project in projects {
        let (reference, name) = (text(&project, "ref"), text(&project, "name"));
        report.begin(&reference, &name)?;
        if project["status"] != ProjectStatus::ActiveHealthy.as_str() {
            report.skip_project(&text(&project, "status"))?;
            continue;
        }
        let path = format!("/platform/projects/{}/storage/check", segment(&reference));
        let mut body = client.post_stream(&path, options.clone()).await?;
        let mut rest = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Some(bytes) = frame?.data_ref() {
                rest.extend_from_slice(bytes);
            }
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                report.add_line(serde_json::from_slice(&line)?)?;
            }
        }
        report.close_project()?;
    }
    Ok(())
}

/// Checks without a server.
async fn check_offline(global: &Global, args: &CheckArgs, report: &mut Report) -> Outcome {
    let offline = Offline::open(global, args.database_url.clone()).await?;
    let checked = check_projects(&offline, global, args, report).await;
    offline.close().await?;
    checked
}

async fn check_projects(
    offline: &Offline,
    global: &Global,
    args: &CheckArgs,
    report: &mut Report,
) -> Outcome {
    let platform = &offline.platform;
    let projects = match selected_project(global, args) {
        Some(name) => {
            let name: ProjectName = name.parse()?;
            vec![platform.load_project(&name).await?]
        }
        None => platform.list_projects(true).await?,
    };
    let options = FileCheck {
        repairs: args.repair,
        verifies_digests: args.verify_digests,
    };
    for project in projects {
        report.begin(project.reference.as_str(), &project.name)?;
        if project.status != ProjectStatus::ActiveHealthy {
            report.skip_project(project.status.as_str())?;
            continue;
        }
        let opened = platform.open(&ProjectName::Ref(project.reference)).await?;
        let mut lines = offline.storage.check(&opened, options);
        while let Some(line) = lines.recv().await {
            report.add_line(line)?;
        }
        report.close_project()?;
        offline.close_project(opened).await;
    }
    Ok(())
}
