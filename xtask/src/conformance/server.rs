//! A Plinth over the folder of a suite: its migrations, its seed, its settings.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{commands, workspace};

/// The line that ends a start.
const READY: &str = "Plinth is running";
const START_DEADLINE: Duration = Duration::from_secs(180);

pub(super) struct Place<'a> {
    pub(super) program: &'a Path,
    /// Has the folder `supabase`.
    pub(super) project: &'a Path,
    pub(super) state: &'a Path,
    /// The programs of PostgreSQL.
    pub(super) postgres: &'a Path,
    /// Besides those in the folder.
    pub(super) settings: &'static [&'static str],
}

/// A running server. It stops when this goes out of scope.
pub(super) struct Server<'a> {
    place: &'a Place<'a>,
    process: Child,
}

impl<'a> Server<'a> {
    /// Starts it with what the suite's folder says, with PostGIS installed before if need be.
    ///
    /// Migrations run as `postgres`, who may not install it; the hosted service lets that pass.
    pub(super) fn start(place: &'a Place<'a>, needs_postgis: bool) -> Result<Self> {
        if needs_postgis {
            let _first = Self::launch(place, &["--no-migrate"])?;
            install_postgis(place)?;
        }
        Self::launch(place, &[])
    }

    fn launch(place: &'a Place<'a>, further: &[&str]) -> Result<Self> {
        let log = place.state.with_extension("log");
        let out = File::create(&log).context("a log file could not be made")?;
        let process = place
            .plinth()
            .args(["start", "--port", "auto", "--set"])
            .arg(format!(
                "plinth.database.bin_dir={}",
                place.postgres.display()
            ))
            .args(place.settings.iter().flat_map(|setting| ["--set", setting]))
            .args(further)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()
            .context("plinth could not be started")?;
        let mut server = Self { place, process };
        server.wait(&log)?;
        Ok(server)
    }

    fn wait(&mut self, log: &Path) -> Result<()> {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            let printed = fs::read_to_string(log).unwrap_or_default();
            if printed.contains(READY) {
                return Ok(());
            }
            if let Some(status) = self.process.try_wait()? {
                bail!("plinth ended with {status}; it printed:\n{printed}");
            }
            if Instant::now() > deadline {
                bail!("plinth did not start in time; it printed:\n{printed}");
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    pub(super) fn url(&self) -> Result<String> {
        let status = commands::output(self.place.plinth().args(["status", "-o", "json"]))?;
        let status: Value = serde_json::from_str(&status).context("plinth status is no JSON")?;
        let url = status["API_URL"].as_str().context("plinth has no URL")?;
        Ok(url.to_owned())
    }
}

impl Drop for Server<'_> {
    /// Asks it to end, because it has a PostgreSQL of its own to stop.
    fn drop(&mut self) {
        let asked = self.place.plinth().arg("stop").output();
        if !asked.is_ok_and(|output| output.status.success()) {
            _ = self.process.kill();
        }
        _ = self.process.wait();
    }
}

impl Place<'_> {
    fn plinth(&self) -> Command {
        let mut command = Command::new(self.program);
        command
            .arg("--workdir")
            .arg(self.project)
            .arg("--data-dir")
            .arg(self.state)
            .env("PLINTH_RUNTIME_DIR", workspace::root().join("runtime"));
        command
    }

    fn psql(&self) -> Command {
        let mut command = Command::new(self.postgres.join("psql"));
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        command
    }
}

fn install_postgis(place: &Place<'_>) -> Result<()> {
    let url = commands::output(place.plinth().args(["db", "url"]))?;
    let ask = ["--command", "select current_database()", "--dbname"];
    let database = commands::output(place.psql().args(ask).arg(url.trim()))?;
    let password = read(&place.state.join("database-password"))?;
    let install = "create extension postgis schema extensions";
    commands::run(
        place
            .psql()
            .env("PGPASSWORD", password.trim())
            .arg("--host")
            .arg(place.state.join("run"))
            .args(["--username", "supabase_admin", "--dbname", database.trim()])
            .args(["--command", install]),
    )
}

fn read(file: &PathBuf) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}
