//! A page of a folder's contents where there are few objects, and where there are very many: one
//! client at a time, both by turns.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use serde_json::Value;

use super::{DATABASE, Options, sides::Side, stage::Watched};
use crate::{
    databases::Databases,
    load::{self, LoadClient},
    random::Random,
    report::{Goal, Measure, Unit},
    run::Sample,
    statistics::Summary,
    table::Table,
};

/// Objects of each folder, and entries of each page.
const PER_FOLDER: u32 = 1000;
const PAGE: usize = 100;
/// What the others are measured beside.
const FEW_FOLDERS: u32 = 100;
const MAX_PAGE_MS: f64 = 20.0;
/// How often each page is asked for in a round.
const REQUESTS: u64 = 25;

pub(crate) const FEW: &str = "few";
pub(crate) const MANY: &str = "many";

/// A page that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    Folders,
    Files,
    LastFiles,
    NewestFiles,
    FoldersByCursor,
    FilesByCursor,
    FlatByCursor,
}

const PAGES: [Page; 7] = [
    Page::Folders,
    Page::Files,
    Page::LastFiles,
    Page::NewestFiles,
    Page::FoldersByCursor,
    Page::FilesByCursor,
    Page::FlatByCursor,
];

impl Page {
    fn what(self) -> &'static str {
        match self {
            Self::Folders => "list: 100 folders",
            Self::Files => "list: 100 files of a folder",
            Self::LastFiles => "list: the last 100 of 1,000 files",
            Self::NewestFiles => "list: the newest 100 of 1,000 files",
            Self::FoldersByCursor => "list-v2: 100 folders",
            Self::FilesByCursor => "list-v2: 100 files of a folder",
            Self::FlatByCursor => "list-v2: 100 files below a prefix",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Folders | Self::Files | Self::LastFiles | Self::NewestFiles => "/object/list",
            Self::FoldersByCursor | Self::FilesByCursor | Self::FlatByCursor => "/object/list-v2",
        }
    }

    fn body(self, folder: &str) -> String {
        let by_offset = |prefix: &str, offset: u32, sort: &str| {
            format!(
                r#"{{"prefix":"{prefix}","limit":{PAGE},"offset":{offset},"sortBy":{sort},"search":""}}"#
            )
        };
        let by_cursor = |prefix: &str, with_delimiter: bool| {
            format!(r#"{{"prefix":"{prefix}","limit":{PAGE},"with_delimiter":{with_delimiter}}}"#)
        };
        let by_name = r#"{"column":"name","order":"asc"}"#;
        let newest = r#"{"column":"created_at","order":"desc"}"#;
        let in_folder = format!("{folder}/");
        match self {
            Self::Folders => by_offset("", 0, by_name),
            Self::Files => by_offset(folder, 0, by_name),
            Self::LastFiles => by_offset(folder, PER_FOLDER - PAGE as u32, by_name),
            Self::NewestFiles => by_offset(folder, 0, newest),
            Self::FoldersByCursor => by_cursor("", true),
            Self::FilesByCursor => by_cursor(&in_folder, true),
            Self::FlatByCursor => by_cursor(&in_folder, false),
        }
    }

    /// How many entries a response has.
    fn entries(self, http_response: &Value) -> Option<usize> {
        let count = |list: &Value| list.as_array().map(Vec::len);
        match self {
            Self::Folders | Self::Files | Self::LastFiles | Self::NewestFiles => {
                count(http_response)
            }
            Self::FoldersByCursor => count(&http_response["folders"]),
            Self::FilesByCursor | Self::FlatByCursor => count(&http_response["objects"]),
        }
    }
}

/// Fills both buckets.
pub(crate) fn fill(databases: &Databases, options: &Options) -> anyhow::Result<()> {
    for (bucket, folders) in [(FEW, FEW_FOLDERS), (MANY, options.objects / PER_FOLDER)] {
        let objects = folders * PER_FOLDER;
        eprintln!("filling a bucket with {objects} objects ...");
        // No blobs are needed for listing.
        let sql = format!(
            "set session_replication_role = replica;
             set synchronous_commit = off;
             insert into storage.objects (bucket_id, name, version, created_at, metadata)
             select '{bucket}', {name}, gen_random_uuid()::text, now() - n * interval '1 second',
                 jsonb_build_object('eTag', '\"d41d8cd98f00b204e9800998ecf8427e\"', 'size', n,
                     'mimetype', 'image/png', 'cacheControl', 'max-age=3600',
                     'lastModified', '2026-01-02T03:04:05.678Z', 'contentLength', n,
                     'httpStatusCode', 200)
             from generate_series(0, {objects} - 1) n",
            name = format_args!(
                "'folder-' || lpad((n / {PER_FOLDER})::text, 5, '0')
                 || '/file-' || lpad((n % {PER_FOLDER})::text, 5, '0') || '.png'"
            ),
        );
        databases.execute(DATABASE, &sql)?;
    }
    databases.execute(DATABASE, "vacuum analyze storage.objects")
}

/// One client, who looks into another folder each time.
struct ScriptedClient {
    page: Page,
    requests: Vec<Vec<u8>>,
    turn: usize,
}

impl ScriptedClient {
    fn new(side: &Side, bucket: &str, folders: u32, page: Page, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let most = i32::try_from(folders).unwrap_or(i32::MAX);
        let requests = (0..REQUESTS).map(|_| {
            let folder = format!("folder-{:05}", random.between_one_and(most) - 1);
            let body = page.body(&folder);
            let path = format!("{}/{bucket}", page.path());
            let headers = "content-type: application/json\r\n";
            let head = side.request("POST", &path, headers, Some(body.len() as u64));
            (head + &body).into_bytes()
        });
        Self {
            page,
            requests: requests.collect(),
            turn: 0,
        }
    }
}

impl LoadClient for ScriptedClient {
    fn next_request(&mut self) -> &[u8] {
        self.turn = (self.turn + 1) % self.requests.len();
        &self.requests[self.turn]
    }

    fn handle_response(&mut self, body: &[u8]) -> anyhow::Result<()> {
        let http_response: Value =
            serde_json::from_slice(body).context("its response is no JSON")?;
        let entries = self.page.entries(&http_response);
        ensure!(entries == Some(PAGE), "a page of {entries:?} entries");
        Ok(())
    }
}

/// Latencies of one page, by number of objects.
pub(crate) struct Compared {
    page: Page,
    few: Vec<Sample>,
    many: Vec<Sample>,
    /// Milliseconds of processor time per page with many, Plinth's and PostgreSQL's together.
    many_cpu: Vec<f64>,
}

/// All pages in both buckets.
pub(crate) fn measure(
    options: &Options,
    side: &Side,
    watched: Watched,
) -> anyhow::Result<Vec<Compared>> {
    let (few, many) = (FEW_FOLDERS, options.objects / PER_FOLDER);
    eprintln!("{} and {} objects:", few * PER_FOLDER, many * PER_FOLDER);
    let mut compared: Vec<Compared> = PAGES
        .into_iter()
        .map(|page| Compared {
            page,
            few: Vec::new(),
            many: Vec::new(),
            many_cpu: Vec::new(),
        })
        .collect();
    // The first round warms up and is not counted.
    for round in 0..=options.rounds {
        let mut notes = format!("  round {round}:");
        for compared in &mut compared {
            let page = compared.page;
            let ask = |bucket, folders| -> anyhow::Result<Sample> {
                let scripted_client =
                    ScriptedClient::new(side, bucket, folders, page, round.into());
                let asked = load::run_alone(side.port, scripted_client, REQUESTS);
                let (_, times) = asked.with_context(|| format!("{}, {bucket}", page.what()))?;
                Ok(sample(&times))
            };
            let of_few = ask(FEW, few)?;
            let before = watched.spent()?;
            let of_many = ask(MANY, many)?;
            let spent = watched.spent()? - before;
            let (one, other) = (of_few.p50_ms, of_many.p50_ms);
            notes.push_str(&format!(" {} {one:.2} and {other:.2} ms,", page.what()));
            if round > 0 {
                compared.few.push(of_few);
                compared.many.push(of_many);
                compared.many_cpu.push(spent * 1e3 / REQUESTS as f64);
            }
        }
        eprintln!("{}", notes.trim_end_matches(','));
    }
    Ok(compared)
}

fn sample(times: &Histogram<u64>) -> Sample {
    let elapsed = Duration::from_secs_f64(times.mean() * times.len() as f64 / 1e9);
    Sample::new(times, elapsed)
}

impl Compared {
    /// The medians of all rounds beside each other.
    pub(crate) fn to_measure(&self, options: &Options) -> Measure {
        let medians = |samples: &[Sample]| samples.iter().map(|sample| sample.p50_ms).collect();
        let objects = options.objects;
        Measure::new(
            format!("{objects} objects: {}, p50", self.page.what()),
            Unit::Milliseconds,
            medians(&self.many),
            (
                &format!("{} objects", FEW_FOLDERS * PER_FOLDER),
                medians(&self.few),
            ),
            Goal::AtMost(MAX_PAGE_MS),
        )
    }
}

/// Both quantiles of all pages.
pub(crate) fn table(compared: &[Compared]) -> Table {
    let median = |samples: &[Sample], pick: fn(&Sample) -> f64| {
        let picked = samples.iter().map(pick).collect();
        format!("{:.2}", Summary::of(picked).median)
    };
    let rows = compared.iter().map(|compared| {
        let mut row = vec![compared.page.what().to_owned()];
        for samples in [&compared.few, &compared.many] {
            row.push(median(samples, |sample| sample.p50_ms));
            row.push(median(samples, |sample| sample.p99_ms));
        }
        let cpu = Summary::of(compared.many_cpu.clone()).median;
        row.push(format!("{cpu:.2}"));
        row
    });
    let header = [
        "milliseconds, one client",
        "p50, few objects",
        "p99",
        "p50, many objects",
        "p99",
        "processor time, many objects",
    ];
    Table::new(&header, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_asked_for_as_clients_do() {
        for page in PAGES {
            let body: Value = serde_json::from_str(&page.body("folder-00007")).unwrap();
            assert_eq!(body["limit"], 100, "{page:?}");
        }
        assert!(Page::FilesByCursor.body("a").contains(r#""prefix":"a/""#));
    }

    #[test]
    fn a_page_that_is_not_full_is_rejected() {
        let side = Side::full(1, "key".to_owned());
        let mut scripted_client = ScriptedClient::new(&side, FEW, 5, Page::FoldersByCursor, 0);
        let folders = vec![Value::Null; PAGE];
        let http_response = serde_json::json!({ "folders": folders, "objects": [] });
        assert!(
            scripted_client
                .handle_response(http_response.to_string().as_bytes())
                .is_ok()
        );
        assert!(
            scripted_client
                .handle_response(br#"{"folders":[],"objects":[]}"#)
                .is_err()
        );
    }
}
