//! Searching the log beside `grep` over the same files.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use plinth_log::{AccessEntry, Config, LogStore, Query, Retention, RetentionPolicy, Timestamp};
use tokio::runtime::Runtime;

use crate::{
    machine::Machine,
    report::{Detail, Goal, Measure, Report, Unit},
    statistics::Summary,
    table::Table,
    work_folder,
};

const PROJECT: &str = "shop";
/// In one line of all.
const NEEDLE: &str = "0f3e9c41-needle";
const MAX_SEARCH_MS: f64 = 500.0;

/// Command line of `plinth-bench logs`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How many lines there are.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=10_000_000))]
    lines: u32,
    /// How often each query runs.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
}

/// A query, and the pattern by which `grep -ci` counts the same lines.
struct Case {
    what: &'static str,
    terms: &'static str,
    pattern: &'static str,
}

const CASES: [Case; 4] = [
    Case {
        what: "a text that one line has",
        terms: NEEDLE,
        pattern: NEEDLE,
    },
    Case {
        what: "a text that no line has",
        terms: "nobody-has-this",
        pattern: "nobody-has-this",
    },
    Case {
        what: "`status:5xx path:/rest/v1/orders*`, one in 100,000",
        terms: "status:5xx path:/rest/v1/orders*",
        pattern: "\"path\":\"/rest/v1/orders[^\"]*\",\"status\":5..,",
    },
    Case {
        what: "`level:error`, the newest 100 of one in 1,000",
        terms: "level:error",
        pattern: "\"level\":\"error\"",
    },
];

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let folder = work_folder::create()?;
    let runtime = Runtime::new()?;
    eprintln!("writing {} lines ...", options.lines);
    let store = runtime.block_on(fill(folder.path(), options.lines))?;
    let mut measures = Vec::new();
    for case in &CASES {
        measures.push(measure(options, &store, folder.path(), case)?);
    }
    let mut histogram = Vec::new();
    for _ in 0..options.rounds {
        let began = Instant::now();
        let query = Query::project(PROJECT);
        store.histogram(&query, 60)?;
        histogram.push(milliseconds(began.elapsed()));
    }

    let mut report = Report::new("logs", "Searching the log beside grep", machine);
    report.setting = vec![format!(
        "{} lines of the access log, {} MB; {} rounds each; files in the page cache",
        options.lines,
        size(folder.path())? >> 20,
        options.rounds,
    )];
    report.measures = measures;
    let summary = Summary::of(histogram);
    let rows = vec![vec![
        "histogram of all lines, 60 buckets".to_owned(),
        format!(
            "{:.0} ms ({:.0}–{:.0})",
            summary.median, summary.min, summary.max
        ),
    ]];
    report.details = vec![Detail {
        title: "Counting".to_owned(),
        table: Table::new(&["", "median (range)"], rows),
    }];
    Ok(report)
}

/// Writes lines as the gateway does.
async fn fill(folder: &Path, lines: u32) -> anyhow::Result<LogStore> {
    let keep_all = Retention {
        max_bytes: u64::MAX,
        ..Retention::default()
    };
    let config = Config {
        retention: RetentionPolicy::uniform(keep_all),
        ..Config::default()
    };
    let (store, writer) = LogStore::open(folder, config.clone())?;
    let writer = writer.start()?;
    let start = Timestamp::now().saturating_sub(Duration::from_secs(3600));
    for number in 0..lines {
        store.write_access(entry(number, start));
        if number % 1000 == 0 {
            store.flush().await;
        }
    }
    store.flush().await;
    store.close().await;
    tokio::task::spawn_blocking(move || writer.join()).await?;
    let (store, _writer) = LogStore::open(folder, config)?;
    Ok(store)
}

fn entry(number: u32, start: Timestamp) -> Box<AccessEntry> {
    let status = match number {
        _ if number % 100_000 == 7 => 503,
        _ if number % 1_000 == 9 => 500,
        _ if number % 20 == 3 => 404,
        _ => 200,
    };
    let tables = ["users", "rooms", "cards", "comments", "files"];
    let table = if number % 100_000 == 7 {
        "orders"
    } else {
        tables[number as usize % tables.len()]
    };
    let id = if number == 421 {
        NEEDLE.to_owned()
    } else {
        format!(
            "{:08x}-7c1d-4d2e-9b7a-{number:012x}",
            number.wrapping_mul(2_654_435_761)
        )
    };
    Box::new(AccessEntry {
        time: start.saturating_add(Duration::from_micros(u64::from(number) * 3000)),
        project: Arc::from(PROJECT),
        request_id: id.as_str().into(),
        method: http::Method::GET,
        path: format!("/rest/v1/{table}?select=id,name&id=eq.{number}").into(),
        status,
        duration: Duration::from_micros(900 + u64::from(number % 3000)),
        bytes: u64::from(number % 5000),
        service: "rest",
        client: [127, 0, 0, 1].into(),
        host: "localhost:54321".to_owned(),
        user_agent: Some(b"Mozilla/5.0 (X11; Linux x86_64)"[..].into()),
        error: None,
        role: Some("authenticated".into()),
        user_id: None,
    })
}

fn measure(
    options: &Options,
    store: &LogStore,
    folder: &Path,
    case: &Case,
) -> anyhow::Result<Measure> {
    let query = || -> anyhow::Result<Query> {
        Ok(Query {
            terms: Query::parse_terms(case.terms)?,
            ..Query::project(PROJECT)
        })
    };
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let began = Instant::now();
        let page = store.search(&query()?)?;
        ours.push(milliseconds(began.elapsed()));
        let began = Instant::now();
        let counted = grep(folder, case.pattern)?;
        peer.push(milliseconds(began.elapsed()));
        let expected = counted.min(100);
        ensure!(
            page.records.len() == expected,
            "{} records where grep counts {counted} lines: {}",
            page.records.len(),
            case.what
        );
    }
    Ok(Measure::new(
        case.what,
        Unit::Milliseconds,
        ours,
        ("grep", peer),
        Goal::AtMost(MAX_SEARCH_MS),
    ))
}

/// Lines that match without regard to case.
fn grep(folder: &Path, pattern: &str) -> anyhow::Result<usize> {
    let output = Command::new("grep")
        .args(["-rhi", "--include=*.ndjson", pattern])
        .arg(folder)
        .env("LC_ALL", "C")
        .stderr(Stdio::inherit())
        .output()
        .context("grep did not start")?;
    Ok(output.stdout.iter().filter(|byte| **byte == b'\n').count())
}

fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            size(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(bytes)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
