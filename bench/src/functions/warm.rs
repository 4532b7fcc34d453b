//! Warm functions: beside Deno serving the same code, and beside nginx proxying to that Deno, which is the
//! minimum cost of a proxy.

use std::{path::Path, process::Command, time::Duration};

use tempfile::TempDir;

use super::{Options, scripted_client::ScriptedClient};
use crate::{
    load,
    nginx::{Job, Nginx},
    report::{Goal, Measure, Unit},
    served::Served,
    start::program::free_port,
    steal_guard::StealGuard,
    work_folder,
};

/// Clients at once.
pub(super) const CONNECTIONS: u16 = 32;
/// Until the JIT has compiled hot code, on every side.
const WARM_UP: Duration = Duration::from_secs(3);
/// Part of what Deno serves by itself.
const MIN_RATIO_TO_DENO: f64 = 0.6;
/// Added to the median of one client, in milliseconds.
const MAX_ADDED_MS: f64 = 1.0;

/// A function and the request for it.
pub(super) struct Warm {
    pub(super) name: &'static str,
    what: &'static str,
    pub(super) code: &'static str,
    scripted_client: fn(&str, Option<&str>) -> ScriptedClient,
}

pub(super) const ALL: [Warm; 3] = [
    Warm {
        name: "hello",
        what: "warm, does nothing",
        code: super::HELLO,
        scripted_client: ScriptedClient::get,
    },
    Warm {
        name: "webhook",
        what: "warm, checks a signature and reads JSON",
        code: include_str!("webhook.ts"),
        scripted_client: ScriptedClient::webhook,
    },
    Warm {
        name: "rows",
        what: "warm, asks the database with supabase-js",
        code: include_str!("rows.ts"),
        scripted_client: ScriptedClient::get,
    },
];

/// Where functions run.
pub(super) struct Target<'a> {
    pub(super) deno: &'a Path,
    pub(super) port: u16,
    pub(super) key: &'a str,
    /// Whether nginx is installed.
    pub(super) has_nginx: bool,
}

/// Deno alone, on a port of its own.
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
        target: &Target<'_>,
        steal_guard: &mut StealGuard,
    ) -> anyhow::Result<Vec<Measure>> {
        let bare = self.serve_bare(target)?;
        let nginx = if target.has_nginx {
            Some(Nginx::start(&Job::HandOn(bare.port))?)
        } else {
            None
        };
        let path = format!("/functions/v1/{}", self.name);
        let (ours, theirs) = (
            (self.scripted_client)(&path, Some(target.key)),
            (self.scripted_client)("/", Some(target.key)),
        );
        throughput(bare.port, &theirs, WARM_UP)?;
        throughput(target.port, &ours, WARM_UP)?;
        let duration = Duration::from_secs(options.seconds.into());
        let mut rate = |port, scripted_client: &ScriptedClient| {
            steal_guard.take(|| throughput(port, scripted_client, duration))
        };
        let (mut rates, mut bare_rates, mut nginx_rates) = (Vec::new(), Vec::new(), Vec::new());
        let (mut added, mut bare_medians) = (Vec::new(), Vec::new());
        for round in 1..=options.rounds {
            let (bare_rate, our_rate) = (rate(bare.port, &theirs)?, rate(target.port, &ours)?);
            if let Some(nginx) = &nginx {
                nginx_rates.push(rate(nginx.port, &theirs)?);
            }
            let (bare_median, our_median) =
                (median(bare.port, &theirs)?, median(target.port, &ours)?);
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
            Goal::RatioAtLeast(MIN_RATIO_TO_DENO),
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
            Goal::AtMost(MAX_ADDED_MS),
        ));
        Ok(measures)
    }

    /// In a folder of its own, with the environment that functions have.
    fn serve_bare(&self, target: &Target<'_>) -> anyhow::Result<Bare> {
        let folder = work_folder::create()?;
        let file = folder.path().join("index.ts");
        std::fs::write(&file, self.code)?;
        let port = free_port()?.local_addr()?.port();
        let mut command = Command::new(target.deno);
        command
            .env("DENO_SERVE_ADDRESS", format!("tcp:127.0.0.1:{port}"))
            .env("DENO_DIR", folder.path().join("deno"))
            .env("SUPABASE_URL", format!("http://127.0.0.1:{}", target.port))
            .env("SUPABASE_ANON_KEY", target.key)
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

fn throughput(
    port: u16,
    scripted_client: &ScriptedClient,
    duration: Duration,
) -> anyhow::Result<f64> {
    let mut talks = vec![scripted_client.clone(); CONNECTIONS.into()];
    let sample = load::run(port, &mut talks, duration, &mut || {})?;
    Ok(sample.per_second)
}

/// The median of one client, in milliseconds.
fn median(port: u16, scripted_client: &ScriptedClient) -> anyhow::Result<f64> {
    let (_, times) = load::run_alone(port, scripted_client.clone(), 2_000)?;
    Ok(times.value_at_quantile(0.5) as f64 / 1e6)
}
