//! `plinth logs`: over the API while the server runs, else directly from the files.

use http_body_util::BodyExt;
use plinth_log::{LogStore, Query, Record};
use serde_json::Value;
use time::OffsetDateTime;

use super::{
    Client, Format, Global, args::LogsArgs, client::segment, output::print,
    settings::parse_duration,
};
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::Folder,
};

pub(super) async fn run(global: &Global, args: LogsArgs) -> Outcome {
    match Client::connect(global) {
        Ok(client) => online(&client, global, &args).await,
        Err(failure) if failure.kind() == Kind::NotRunning && !args.filter.follow => {
            offline(global, &args)
        }
        Err(failure) => Err(failure),
    }
}

async fn online(client: &Client, global: &Global, args: &LogsArgs) -> Outcome {
    let base = format!("/platform/projects/{}/logs", segment(&global.reference));
    let query = query_string(args)?;
    let page = client.get(&format!("{base}?{query}")).await?;
    let records = page["records"].as_array().cloned().unwrap_or_default();
    for record in records.iter().rev() {
        show(global, record)?;
    }
    if args.filter.follow {
        follow(client, global, &format!("{base}/tail?{query}")).await?;
    }
    Ok(())
}

fn query_string(args: &LogsArgs) -> Outcome<String> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if !args.sources.is_empty() {
        query.append_pair("source", &args.sources.join(","));
    }
    if let Some(since) = &args.filter.since {
        query.append_pair(
            "since",
            &plinth_log::Timestamp::from(start_time(since)?).to_string(),
        );
    }
    if let Some(terms) = &args.filter.grep {
        query.append_pair("q", terms);
    }
    if let Some(level) = &args.filter.level {
        query.append_pair("level", level);
    }
    query.append_pair("limit", &args.filter.limit.to_string());
    Ok(query.finish())
}

fn start_time(since: &str) -> Outcome<OffsetDateTime> {
    Ok(OffsetDateTime::now_utc() - parse_duration(since)?)
}

async fn follow(client: &Client, global: &Global, path: &str) -> Outcome {
    let mut body = client.stream(path).await?;
    let mut text = String::new();
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        let Some(bytes) = frame.data_ref() else {
            continue;
        };
        text.push_str(&String::from_utf8_lossy(bytes));
        while let Some(end) = text.find('\n') {
            let line: String = text.drain(..=end).collect();
            if let Some(data) = line.strip_prefix("data:")
                && let Ok(record) = serde_json::from_str::<Value>(data)
            {
                match record["count"].as_u64() {
                    Some(dropped) if record["message"].is_null() => {
                        eprintln!("({dropped} records dropped: output is too slow)");
                    }
                    _ => show(global, &record)?,
                }
            }
        }
    }
    Ok(())
}

/// Reads records of all projects, because refs cannot be resolved without a server.
fn offline(global: &Global, args: &LogsArgs) -> Outcome {
    let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
    let (store, _writer) = LogStore::open(folder.logs(), plinth_log::Config::default())?;
    let invalid = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let mut query = Query::all();
    for source in &args.sources {
        query
            .sources
            .push(source.parse().map_err(|error| invalid(&error))?);
    }
    if let Some(level) = &args.filter.level {
        query.level = Some(level.parse().map_err(|error| invalid(&error))?);
    }
    if let Some(since) = &args.filter.since {
        query.since = Some(start_time(since)?.into());
    }
    if let Some(terms) = &args.filter.grep {
        query.terms = Query::parse_terms(terms).map_err(|error| invalid(&error))?;
    }
    query.limit = args.filter.limit.clamp(1, plinth_log::MAX_LIMIT);
    let page = store.search(&query)?;
    for record in page.records.iter().rev() {
        show(global, &serde_json::to_value::<&Record>(record)?)?;
    }
    Ok(())
}

fn show(global: &Global, record: &Value) -> Outcome {
    if global.output == Format::Json {
        return print(&format!("{record}\n"));
    }
    let text = |member: &str| record[member].as_str().unwrap_or_default().to_owned();
    let fields = record["fields"].as_object().cloned().unwrap_or_default();
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}={text}"),
            None => format!("{name}={value}"),
        })
        .collect();
    print(&format!(
        "{} {:5} {:9} {} {}\n",
        text("time"),
        text("level"),
        text("source"),
        text("message"),
        fields.join(" ")
    ))
}
