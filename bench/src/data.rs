//! What operators do with rows: pages of a large table beside the bare statement, imports beside a bare
//! COPY.

use std::{convert::Infallible, time::Instant};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use futures_util::{SinkExt as _, stream};
use plinth_db::{Begin, LocalSettings, Pool, PoolConfig, Target};
use plinth_query::{
    PageRequest, Relation,
    import::{ImportProgress, ImportRequest, import},
};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, sync::watch};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    databases::Databases,
    machine::Machine,
    report::{Goal, Measure, Report, Unit},
};

const DATABASE: &str = "bench";
const MAX_PAGE_MS: f64 = 30.0;
const MAX_ALL_RATIO: f64 = 1.5;
const MAX_GOOD_RATIO: f64 = 3.0;
/// Pages that are read one after the other in a round.
const PAGES: usize = 20;
/// The file arrives in pieces of this size.
const PIECE_BYTES: usize = 64 * 1024;
/// One row in so many is bad, in the file that has bad ones.
const BAD_EVERY: u32 = 1000;

/// Command line of `plinth-bench data`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Rows of the table that is paged through.
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    rows: u32,
    /// Rows of the file that is imported.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=10_000_000))]
    lines: u32,
    /// How often each side runs.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
}

/// An order, and where in it pages are read.
struct Order {
    what: &'static str,
    sort: fn() -> Value,
    /// The same for the bare statement.
    sql: &'static str,
}

const ORDERS: [Order; 3] = [
    Order {
        what: "by an indexed column",
        sort: || json!([{ "column": "at", "descending": true, "nulls_first": false }]),
        // No row is without it, so an index gives this order.
        sql: "at desc, id",
    },
    Order {
        what: "by an indexed column with NULLs and repetitions",
        sort: || json!([{ "column": "score" }]),
        sql: "score, id",
    },
    Order {
        what: "by the key",
        sort: || json!([]),
        sql: "id",
    },
];

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let runtime = Runtime::new()?;
    let databases = Databases::start()?;
    databases.create(DATABASE)?;
    eprintln!("filling a table of {} rows ...", options.rows);
    databases.execute(DATABASE, &table_sql(options.rows))?;
    let target = Target::from_url(&databases.url(DATABASE))?;

    let mut measures = Vec::new();
    for order in &ORDERS {
        for is_deep in [false, true] {
            let measured = pages(options, &target, order, is_deep);
            measures.push(runtime.block_on(measured)?);
        }
    }
    let good = file(options.lines, None);
    let bad = file(options.lines, Some(BAD_EVERY));
    let cases = [
        ("all or nothing", &good, "abort", MAX_ALL_RATIO),
        (
            "keep the good rows, all are good",
            &good,
            "skip",
            MAX_GOOD_RATIO,
        ),
        (
            "keep the good rows, one in 1,000 is bad",
            &bad,
            "skip",
            MAX_GOOD_RATIO,
        ),
    ];
    for (what, file, on_error, most) in cases {
        let case = Case {
            what,
            file,
            on_error,
            most,
        };
        measures.push(runtime.block_on(imports(options, &target, &case, &good))?);
    }

    let mut report = Report::new("data", "Rows of operators beside bare statements", machine);
    report.setting = vec![
        format!("PostgreSQL {}", databases.version()),
        format!(
            "a table of {} rows; files of {} rows, {} MB; {} rounds per side, alternating",
            options.rows,
            options.lines,
            good.len() >> 20,
            options.rounds,
        ),
    ];
    report.measures = measures;
    databases.stop();
    Ok(report)
}

fn table_sql(rows: u32) -> String {
    format!(
        "create table big (id bigint primary key, at timestamptz, score int, name text, note text);
         insert into big
         select n, timestamptz '2020-01-01' + (n::bigint * 7919 % {rows}) * interval '1 second',
                nullif(n % 1000, 0), 'name ' || n, repeat('x', 40)
         from generate_series(1, {rows}) n;
         create index on big (at); create index on big (score);
         analyze big; create table imported {COLUMNS}"
    )
}

const COLUMNS: &str = "(id int primary key, name text, email text, price numeric(8, 2),
                        at timestamptz, ok boolean)";

/// Pages one after the other, from the beginning or from the middle.
async fn pages(
    options: &Options,
    target: &Target,
    order: &Order,
    is_deep: bool,
) -> anyhow::Result<Measure> {
    let pool = Pool::new(target.clone(), PoolConfig::default());
    let client = target.connect().await?;
    let start = if is_deep {
        Some(middle(&pool, order, options.rows).await?)
    } else {
        None
    };
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        let began = Instant::now();
        let mut after = start.clone();
        for _ in 0..PAGES {
            after = next_page(&pool, order, after).await?;
        }
        let per_page = began.elapsed().as_secs_f64() * 1000.0 / PAGES as f64;
        let sql = format!("select * from big order by {} limit 101", order.sql);
        let began = Instant::now();
        for _ in 0..PAGES {
            client.simple_query(&sql).await?;
        }
        // The first round fills caches.
        if round > 0 {
            ours.push(per_page);
            bare.push(began.elapsed().as_secs_f64() * 1000.0 / PAGES as f64);
        }
    }
    let place = if is_deep {
        "from the middle on"
    } else {
        "from the first on"
    };
    Ok(Measure::new(
        format!("a page of 100 rows {}, {place}", order.what),
        Unit::Milliseconds,
        ours,
        ("the statement of the first page", bare),
        Goal::AtMost(MAX_PAGE_MS),
    ))
}

/// A cursor of the middle: that of a page before a row in the middle.
async fn middle(pool: &Pool, order: &Order, rows: u32) -> anyhow::Result<String> {
    let (column, value) = match order.sql {
        "id" => ("id", format!("{}", rows / 2)),
        "score, id" => ("score", "500".to_owned()),
        _ => ("at", "2020-01-20".to_owned()),
    };
    let operator = if order.sql.starts_with("at") {
        "<="
    } else {
        ">="
    };
    let body = json!({
        "relation": { "name": "big" }, "sort": (order.sort)(),
        "filters": [{ "column": column, "operator": operator, "value": value }],
    });
    let next = read(pool, body).await?;
    next.context("there is a page in the middle")
}

async fn next_page(
    pool: &Pool,
    order: &Order,
    after: Option<String>,
) -> anyhow::Result<Option<String>> {
    let body = json!({ "relation": { "name": "big" }, "sort": (order.sort)(), "after": after });
    let next = read(pool, body).await?;
    ensure!(next.is_some(), "the pages end too early");
    Ok(next)
}

async fn read(pool: &Pool, body: Value) -> anyhow::Result<Option<String>> {
    let request: PageRequest = serde_json::from_value(body)?;
    let mut settings = LocalSettings::default();
    settings.set("jit", "off");
    let (mut tx, _) = pool.begin(Begin::default(), &settings, &[]).await?;
    let page = plinth_query::page(&mut tx, &request).await?;
    ensure!(page.set.rows.len() == 100, "a page has 100 rows");
    let text = serde_json::to_vec(&page)?;
    ensure!(!text.is_empty(), "a page has a text");
    tx.rollback().await?;
    Ok(page.next)
}

/// A file with names in its first line.
fn file(lines: u32, bad_every: Option<u32>) -> Bytes {
    let mut text = String::with_capacity(lines as usize * 80);
    text.push_str("id,name,email,price,at,ok\n");
    for line in 1..=lines {
        let price = match bad_every {
            Some(every) if line % every == 0 => "cheap".to_owned(),
            _ => format!("{}.{:02}", line % 5000, line % 100),
        };
        text.push_str(&format!(
            "{line},\"Person, {line}\",p{line}@example.com,{price},2026-01-02T03:04:05Z,{}\n",
            line % 2 == 0
        ));
    }
    Bytes::from(text)
}

struct Case<'a> {
    what: &'a str,
    file: &'a Bytes,
    on_error: &'a str,
    most: f64,
}

async fn imports(
    options: &Options,
    target: &Target,
    case: &Case<'_>,
    good: &Bytes,
) -> anyhow::Result<Measure> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        let client = target.connect().await?;
        client.batch_execute("truncate imported").await?;
        let began = Instant::now();
        import_once(target, &client, case, options.lines).await?;
        let imported = began.elapsed().as_secs_f64();
        client.batch_execute("truncate imported").await?;
        let began = Instant::now();
        copy(&client, good).await?;
        if round > 0 {
            ours.push(imported);
            bare.push(began.elapsed().as_secs_f64());
        }
    }
    Ok(Measure::new(
        format!("import: {}", case.what),
        Unit::Seconds,
        ours,
        ("bare COPY", bare),
        Goal::RatioAtMost(case.most),
    ))
}

async fn import_once(
    target: &Target,
    client: &Client,
    case: &Case<'_>,
    lines: u32,
) -> anyhow::Result<()> {
    let body = json!({ "relation": { "name": "imported" }, "on_error": case.on_error });
    let request: ImportRequest = serde_json::from_value(body)?;
    let pool = Pool::new(target.clone(), PoolConfig::default());
    let settings = LocalSettings::default();
    let (mut tx, _) = pool.begin(Begin::default(), &settings, &[]).await?;
    let relation = Relation::load(&mut tx, &request.relation).await?;
    tx.rollback().await?;
    let (progress, _seen) = watch::channel(ImportProgress::default());
    let cancel = CancellationToken::new();
    let pieces = stream::iter(pieces(case.file).map(Ok::<_, Infallible>));
    let imported = import(
        client,
        Some(&relation),
        &request,
        pieces,
        &progress,
        &cancel,
    );
    let report = imported.await?;
    let all = report.rows_written + report.rejects.count();
    ensure!(all == u64::from(lines), "every row is written or listed");
    Ok(())
}

async fn copy(client: &Client, file: &Bytes) -> anyhow::Result<()> {
    client.batch_execute("begin").await?;
    let sql = "copy imported from stdin (format csv, header)";
    let sink = client.copy_in::<_, Bytes>(sql).await?;
    let mut sink = std::pin::pin!(sink);
    for piece in pieces(file) {
        sink.send(piece).await?;
    }
    sink.finish().await?;
    Ok(client.batch_execute("commit").await?)
}

fn pieces(file: &Bytes) -> impl Iterator<Item = Bytes> {
    let starts = (0..file.len()).step_by(PIECE_BYTES);
    starts.map(|start| file.slice(start..file.len().min(start + PIECE_BYTES)))
}
