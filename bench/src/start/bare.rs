//! The physical part of a start: `initdb` and `postgres` by themselves, with the programs and
//! options that Plinth uses, until the first connection is accepted.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use plinth_db::Target;
use plinth_postgres::{Account, Binaries, binaries};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{child::die_with_us, managed, work_folder};

const START_TIMEOUT: Duration = Duration::from_secs(60);
const PASSWORD: &str = "bench";
const PORT: u16 = 5432;

/// An empty folder and the programs.
pub(crate) struct Bare {
    binaries: Binaries,
    account: Option<Account>,
    folder: TempDir,
}

impl Bare {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let binaries = binaries::find(&managed::search(), None)?;
        let account = Account::choose()?;
        let folder = work_folder::create()?;
        let bare = Self {
            binaries,
            account,
            folder,
        };
        for path in [bare.data(), bare.socket_dir()] {
            fs::create_dir(&path)?;
            bare.chown(&path)?;
        }
        let password = bare.password_file();
        fs::write(&password, PASSWORD)?;
        bare.chown(&password)?;
        Ok(bare)
    }

    pub(crate) fn version(&self) -> String {
        self.binaries.version.to_string()
    }

    /// `initdb`.
    pub(crate) fn initialise(&self) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let output = self
            .command("initdb")
            .arg("--pgdata")
            .arg(self.data())
            .args([
                "--username=supabase_admin",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
            ])
            .args([
                "--data-checksums",
                "--no-instructions",
                "--locale-provider=icu",
            ])
            .args(["--icu-locale=en-US", "--locale=C.UTF-8", "--pwfile"])
            .arg(self.password_file())
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "initdb failed: {complaint}");
        Ok(begun.elapsed())
    }

    /// `postgres` until it accepts a connection; it is stopped again, unmeasured.
    pub(crate) fn start(&self, runtime: &Runtime) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let _server = self.serve(runtime, begun)?;
        Ok(begun.elapsed())
    }

    /// Kills a server of its own; the time from then until the next one accepts a connection.
    pub(crate) fn start_after_kill(&self, runtime: &Runtime) -> anyhow::Result<Duration> {
        let mut server = self.serve(runtime, Instant::now())?;
        let killed_at = Instant::now();
        server.0.kill()?;
        server.0.wait()?;
        let _next = self.serve(runtime, killed_at)?;
        Ok(killed_at.elapsed())
    }

    fn serve(&self, runtime: &Runtime, begun: Instant) -> anyhow::Result<BareServer> {
        let child = self
            .command("postgres")
            .arg("-D")
            .arg(self.data())
            .args(["-c", "listen_addresses=", "-c", "wal_level=logical", "-c"])
            .arg(format!(
                "unix_socket_directories={}",
                self.socket_dir().display()
            ))
            .spawn()
            .context("postgres does not run")?;
        let mut server = BareServer(child);
        let target = Target::unix(
            &self.socket_dir(),
            PORT,
            "supabase_admin",
            PASSWORD,
            "template1",
        );
        while runtime.block_on(target.connect()).is_err() {
            if let Some(status) = server.0.try_wait()? {
                bail!("postgres ended with {status} before it accepted a connection");
            }
            ensure!(
                begun.elapsed() < START_TIMEOUT,
                "postgres accepts no connection"
            );
            thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.bin_dir.join(program));
        command.current_dir("/").env("LC_ALL", "C").env("TZ", "UTC");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(account) = &self.account {
            command.gid(account.gid).uid(account.uid);
        }
        die_with_us(&mut command, Signal::INT);
        command
    }

    fn chown(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(account) = &self.account {
            chown(path, Some(account.uid), Some(account.gid))?;
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn socket_dir(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn password_file(&self) -> PathBuf {
        self.folder.path().join("password")
    }
}

/// Stops cleanly when dropped.
struct BareServer(Child);

impl Drop for BareServer {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait()
            && let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
        {
            // Fast shutdown: connections are ended, a checkpoint is made.
            _ = kill_process(pid, Signal::INT);
        }
        _ = self.0.wait();
    }
}
