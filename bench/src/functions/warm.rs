//! Functions that are called again and again: beside Deno serving the same code by itself, and beside
//! nginx handing requests on to that Deno, which is what being in between costs at least.

use std::{path::Path, process::Command, time::Duration};

use tempfile::TempDir;

use super::{Options, talk::Talk};
use crate::{
    calm::Calm,
    load,
    nginx::{Job, Nginx},
    report::{Goal, Measure, Unit},
    served::Served,
    start::program::free_port,
    work_folder,
};

/// Clients at once.
pub(super) const CONNECTIONS: u16 = 32;
/// Until code that runs often has been compiled well, on every side.
const WARM_UP: Duration = Duration::from_secs(3);
/// Part of what Deno serves by itself.
const LEAST_OF_DENO: f64 = 0.6;
/// Added to the median of one client, in milliseconds.
const MOST_ADDED: f64 = 1.0;

/// A function, and what it is asked.
pub(super) struct Warm {
    pub(super) name: &'static str,
    what: &'static str,
    pub(super) code: &'static str,
    talk: fn(&str, Option<&str>) -> Talk,
}

pub(super) const ALL: [Warm; 3] = [
    Warm {
        name: "hello",
        what: "warm, does nothing",
        code: super::HELLO,
        talk: Talk::get,
    },
    Warm {
        name: "webhook",
        what: "warm, checks a signature and reads JSON",
        code: include_str!("webhook.ts"),
        talk: Talk::webhook,
    },
    Warm {
        name: "rows",
        what: "warm, asks the database with supabase-js",
        code: include_str!("rows.ts"),
        talk: Talk::get,
    },
];

/// Where functions run.
pub(super) struct Place<'a> {
    pub(super) deno: &'a Path,
    pub(super) port: u16,
    pub(super) key: &'a str,
    /// Whether nginx is there.
    pub(super) has_nginx: bool,
}

/// Deno by itself, on a port of its own.
struct Bare {
    port: u16,
    _served: Served,
    _folder: TempDir,
}

impl Warm {
    /// Throughput and times.
    pub(super) fn measure(
        &self,
        options: &Options,
        place: &Place<'_>,
        calm: &mut Calm,
    ) -> anyhow::Result<Vec<Measure>> {
        let bare = self.serve_bare(place)?;
        let nginx = match place.has_nginx {
            true => Some(Nginx::start(&Job::HandOn(bare.port))?),
            false => None,
        };
        let path = format!("/functions/v1/{}", self.name);
        let (ours, theirs) = (
            (self.talk)(&path, Some(place.key)),
            (self.talk)("/", Some(place.key)),
        );
        throughput(bare.port, &theirs, WARM_UP)?;
        throughput(place.port, &ours, WARM_UP)?;
        let duration = Duration::from_secs(options.seconds.into());
        let mut rate = |port, talk: &Talk| calm.take(|| throughput(port, talk, duration));
        let (mut rates, mut bare_rates, mut nginx_rates) = (Vec::new(), Vec::new(), Vec::new());
        let (mut added, mut bare_medians) = (Vec::new(), Vec::new());
        for round in 1..=options.rounds {
            let (bare_rate, our_rate) = (rate(bare.port, &theirs)?, rate(place.port, &ours)?);
            if let Some(nginx) = &nginx {
                nginx_rates.push(rate(nginx.port, &theirs)?);
            }
            let (bare_median, our_median) =
                (median(bare.port, &theirs)?, median(place.port, &ours)?);
            eprintln!(
                "  {}, round {round}: Deno {bare_rate:.0}/s and {bare_median:.2} ms, nginx {:.0}/s, \
                 plinth {our_rate:.0}/s and {our_median:.2} ms",
                self.name,
                nginx_rates.last().copied().unwrap_or_default(),
            );
            rates.push(our_rate);
            bare_rates.push(bare_rate);
            bare_medians.push(bare_median);
            added.push(our_median - bare_median);
        }
        let many = format!("{}, {CONNECTIONS} clients", self.what);
        let mut measures = vec![Measure::new(
            many.clone(),
            Unit::RequestsPerSecond,
            rates.clone(),
            ("Deno by itself", bare_rates),
            Goal::RatioAtLeast(LEAST_OF_DENO),
        )];
        if !nginx_rates.is_empty() {
            measures.push(Measure::new(
                many,
                Unit::RequestsPerSecond,
                rates,
                ("nginx in front of that Deno", nginx_rates),
                Goal::None,
            ));
        }
        measures.push(Measure::new(
            format!("{}, one client: added to the median", self.what),
            Unit::Milliseconds,
            added,
            ("Deno by itself, in all", bare_medians),
            Goal::AtMost(MOST_ADDED),
        ));
        Ok(measures)
    }

    /// In a folder of its own, with the environment that functions have.
    fn serve_bare(&self, place: &Place<'_>) -> anyhow::Result<Bare> {
        let folder = work_folder::create()?;
        let file = folder.path().join("index.ts");
        std::fs::write(&file, self.code)?;
        let port = free_port()?.local_addr()?.port();
        let mut command = Command::new(place.deno);
        command
            .env("DENO_SERVE_ADDRESS", format!("tcp:127.0.0.1:{port}"))
            .env("DENO_DIR", folder.path().join("deno"))
            .env("SUPABASE_URL", format!("http://127.0.0.1:{}", place.port))
            .env("SUPABASE_ANON_KEY", place.key)
            .args([
                "run",
                "--quiet",
                "--allow-net",
                "--allow-env",
                "--no-config",
            ])
            .arg(&file);
        Ok(Bare {
            port,
            _served: Served::start(command, port, "/")?,
            _folder: folder,
        })
    }
}

fn throughput(port: u16, talk: &Talk, duration: Duration) -> anyhow::Result<f64> {
    let mut talks = vec![talk.clone(); CONNECTIONS.into()];
    let sample = load::run(port, &mut talks, duration, &mut || {})?;
    Ok(sample.per_second)
}

/// The median of one client, in milliseconds.
fn median(port: u16, talk: &Talk) -> anyhow::Result<f64> {
    let (_, times) = load::run_alone(port, talk.clone(), 2_000)?;
    Ok(times.value_at_quantile(0.5) as f64 / 1e6)
}
